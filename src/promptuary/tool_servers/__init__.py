"""MCP servers that the person configured: their tools and resources, for turns of ours.

``definitions`` and ``contents`` decide what of a server's words is used (pure), ``connection`` talks to one server,
``servers`` has them all. What a server says is never trusted: it is bounded, and only code says what it is.
"""
