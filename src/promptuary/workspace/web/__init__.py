"""Guarded HTTP: which addresses may be reached, fetching a page, and converting bytes to text in a child process."""
