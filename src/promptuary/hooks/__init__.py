"""Hooks of coding agents: they add context to a prompt, and store what was learnt when a turn ends."""
