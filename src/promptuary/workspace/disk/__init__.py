"""Opening and reading files strictly beneath a root, as an ``Access`` allows."""
