"""The database of a workspace: whose it is, and copies of all that is kept."""
