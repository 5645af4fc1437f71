"""Vocabularies in a format that gives fast access to a few tokens."""
