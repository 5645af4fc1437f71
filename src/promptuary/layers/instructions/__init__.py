"""Standing instructions: AGENTS.md and similar files, with the files that they import."""
