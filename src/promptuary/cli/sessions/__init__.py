"""Commands about sessions: what a thread may see, and what its answers were based on."""
