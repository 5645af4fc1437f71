"""Finds the notes that a turn needs: their index, the digest, and what is selected for a message."""
