"""Which files there are: the walk, ignore files and globs."""
