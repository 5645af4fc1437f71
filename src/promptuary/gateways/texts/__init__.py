"""Formats answers for platforms: Markdown, its equivalent on each platform, and the split into messages."""
