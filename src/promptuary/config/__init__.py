"""Settings: which there are, where each may come from, and what it may be."""
