"""The chat in the terminal: a thin surface over the facade and the slash commands. Needs the extra ``chat``."""
