"""Hooks of coding agents: context comes in with a prompt, and what was learnt is kept when a turn ends."""
