"""Experiences in ``state.db``."""
