"""Makes room in a history that has grown too long; one module a strategy."""
