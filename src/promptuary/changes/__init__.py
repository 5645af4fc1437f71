"""What happened to turns, notes and proposals, in the order in which it was written, whichever process wrote it."""
