"""Guarded HTTP: which addresses may be reached, fetching a page, and turning bytes into text in a child process."""
