"""Composes the parts; each module is imported when its part is used. The only importer of storage and models."""
