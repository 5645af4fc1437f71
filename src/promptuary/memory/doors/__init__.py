"""How messages and agents use memory: what a message names or asks, and the tools of an agent."""
