"""How frameworks write messages and files: theirs as ours, and ours as theirs. Pure."""
