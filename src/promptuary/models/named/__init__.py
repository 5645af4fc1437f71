"""Models by name: the available ones, and those that the person has fetched."""
