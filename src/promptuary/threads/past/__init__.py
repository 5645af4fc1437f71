"""Looking back at turns: what was sent, what it was based on, and running it again."""
