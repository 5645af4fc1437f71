"""Opening and reading files strictly beneath a root, as the read policy allows."""
