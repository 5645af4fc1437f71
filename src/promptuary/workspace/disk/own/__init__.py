"""Promptuary's own folders: closed to whoever reads or lists files."""
