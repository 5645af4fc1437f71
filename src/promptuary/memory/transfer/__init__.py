"""Brings notes in from other memories, and takes them out as files."""
