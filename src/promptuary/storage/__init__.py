"""Where things last: one folder a backend, the same file names in each."""
