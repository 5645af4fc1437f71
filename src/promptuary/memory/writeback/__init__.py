"""Writes notes after a turn: a model proposes them, and code decides."""
