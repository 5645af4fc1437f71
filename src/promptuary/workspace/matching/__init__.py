"""Finds the files that a person means by what they typed."""
