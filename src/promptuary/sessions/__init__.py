"""Sessions: what a conversation may see, pinned by revision."""
