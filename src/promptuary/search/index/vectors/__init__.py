"""The vectors of chunks, and their files."""
