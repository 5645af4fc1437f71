"""Vocabularies in a form from which a few tokens are quickly taken."""
