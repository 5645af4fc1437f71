"""Parses times as people write them: dates in texts, and time expressions in questions. Pure."""
