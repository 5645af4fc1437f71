"""Vectors for search: computes missing ones, and measures the range of a model's cosines."""
