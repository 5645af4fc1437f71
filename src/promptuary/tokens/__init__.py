"""Exact counts of tokens, and the vocabularies that they need."""
