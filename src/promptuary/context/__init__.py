"""Puts a turn together: shares the budget, orders what goes in, renders it for a provider, and accounts for it."""
