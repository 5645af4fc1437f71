"""The full-text index of chunks, and how a query is put to it."""
