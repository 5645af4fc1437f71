"""Standing instructions: AGENTS.md and its like, with the files that they import."""
