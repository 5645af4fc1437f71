"""Slash commands that the chat and the gateways share. They use the facade ``Promptuary`` and nothing below it."""
