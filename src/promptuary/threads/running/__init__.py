"""Running a turn: a model answers, and the tools that it asks for are called."""
