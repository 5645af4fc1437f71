"""What of the experiences is shown to a turn, and how it looks."""
