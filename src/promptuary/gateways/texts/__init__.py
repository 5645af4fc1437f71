"""Answers as platforms show them: Markdown, its marks on each platform, and where a message ends."""
