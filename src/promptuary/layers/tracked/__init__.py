"""Files kept in view: which, how much of each, and in what order."""
