"""Search of what is no file: what a store has for one principal, in an index of its own, kept up in the background."""
