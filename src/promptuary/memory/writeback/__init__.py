"""What a conversation teaches, written down after a turn: by a model that proposes, and code that decides."""
