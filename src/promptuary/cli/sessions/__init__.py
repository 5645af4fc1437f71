"""Sessions: what a conversation may see, and what its answers were based on."""
