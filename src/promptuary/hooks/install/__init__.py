"""Writes the MCP server and the hooks into the settings of agents and editors, and removes them."""
