"""Runs a turn: a model answers, and the tools that it calls are executed."""
