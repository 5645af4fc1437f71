"""Prompts by name: files of this program and of others, read and filled, never executed."""
