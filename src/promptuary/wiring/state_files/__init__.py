"""The database of a workspace: its ownership, and backups of all stored files."""
