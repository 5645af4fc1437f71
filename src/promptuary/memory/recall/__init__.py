"""Finds the notes that a turn needs: their index, the digest, and the selection for a message."""
