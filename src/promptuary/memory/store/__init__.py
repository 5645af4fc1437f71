"""Where notes are stored: Markdown files, and the journal of what happened to them."""
