"""Threads in ``state.db``: the store, its rows and its cache."""
