"""Learns from finished turns: from tool calls and their results, from what the person says, from a model."""
