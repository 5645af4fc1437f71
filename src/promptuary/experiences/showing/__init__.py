"""Selects and renders the experiences that a turn shows."""
