"""Persistent storage: one folder per backend, with the same file names in each."""
