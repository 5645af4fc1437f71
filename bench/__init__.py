"""Measurements: each module prints a table with us and a peer or a limit, taken in the same run."""
