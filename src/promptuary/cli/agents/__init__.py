"""Commands for agents: the MCP server, their hooks, and the installer of both."""
