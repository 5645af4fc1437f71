"""Conversations: the turn, what is attached to a thread, and the ledger of what models saw."""
