"""How the server is reached: standard streams, HTTP on loopback, and a local socket for hooks."""
