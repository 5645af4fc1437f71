"""The doors of memory for messages and agents: what a message names or asks, and the tools of an agent."""
