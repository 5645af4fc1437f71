"""The models that answer, and the tools that they may call."""
