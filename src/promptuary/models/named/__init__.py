"""Models by name: which there are, and those that the person had fetched."""
