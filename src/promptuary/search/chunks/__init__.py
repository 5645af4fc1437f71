"""Splits a file into chunks: whole lines that belong together."""
