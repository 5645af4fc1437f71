"""Experiences: what worked before and what went wrong, found again when something like it is wanted."""
