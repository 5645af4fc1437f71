"""The command line: results on stdout, everything else on stderr, exit codes 0 done, 1 not all of it, 2 wrong usage."""
