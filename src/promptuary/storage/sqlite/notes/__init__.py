"""The journal of notes in ``state.db``."""
