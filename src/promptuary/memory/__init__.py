"""Durable memory: notes that an agent should still know next week, as files that a person can read and edit."""
