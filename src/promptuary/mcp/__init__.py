"""A server for clients of the Model Context Protocol: references, search, memory and experiences as tools.

The package of the protocol is also called ``mcp``; it is an extra, and imported only when a server starts.
"""
