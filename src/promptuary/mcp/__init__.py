"""A server for clients of the Model Context Protocol: references, search, memory and experiences as tools.

The package of the protocol is called ``mcp`` as well; it is an extra, and imported when a server starts.
"""
