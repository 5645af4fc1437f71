"""The file memory: chunks, sync, search, and what recalls from it."""
