"""SQLite in the workspace: nothing to install, nothing to start."""
