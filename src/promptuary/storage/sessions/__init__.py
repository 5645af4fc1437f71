"""Sessions: what a thread may see, in ``state.db``."""
