"""Commands for agents: the MCP server, their hooks, and what writes both into their settings."""
