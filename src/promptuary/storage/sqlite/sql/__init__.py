"""The SQL of ``state.db``: how a connection is set up, the steps of its schema, and the queries by name."""
