"""Experiences: what worked before and what went wrong, found again for similar requests."""
