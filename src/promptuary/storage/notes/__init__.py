"""Notes on disk: their files, and the rules that all stores of notes share."""
