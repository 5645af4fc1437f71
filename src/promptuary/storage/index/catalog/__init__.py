"""The catalogue: which files and chunks are indexed, and what the other parts must still be told."""
