"""Lists files: the walk, ignore files and globs."""
