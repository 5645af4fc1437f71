"""The vectors of chunks, and the files that they are kept in."""
