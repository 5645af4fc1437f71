"""Converts messages and files between the formats of frameworks and ours. Pure."""
