"""Notes on disk: their files, and the rules that every store of notes shares."""
