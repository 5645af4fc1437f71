"""Completion of references, and completion scripts for shells."""
