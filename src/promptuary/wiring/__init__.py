"""Puts the parts together, each module loaded when its part is used. The only importer of storage and models."""
