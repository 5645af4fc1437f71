"""Vectors for search: making those that are missing, and measuring how wide the cosines of a model range."""
