"""Promptuary's own folders: closed to all code that reads or lists files."""
