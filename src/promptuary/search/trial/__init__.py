"""Measures another model for search on the person's own files, before anything is embedded again."""
