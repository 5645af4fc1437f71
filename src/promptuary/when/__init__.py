"""Times as people write them: dates in texts, and what a question says about time. Pure."""
