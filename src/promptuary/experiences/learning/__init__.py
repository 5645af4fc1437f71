"""What finished turns teach: from calls of tools and their results, from what the person says, from a model."""
