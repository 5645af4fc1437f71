"""Adapters to agent frameworks, one module each; every one of them is an extra."""
