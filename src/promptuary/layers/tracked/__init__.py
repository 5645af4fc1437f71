"""Tracked files: which files a thread keeps in view, in what order, and how much of each is shown."""
