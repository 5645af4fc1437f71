"""The full-text index of chunks, and its queries."""
