"""From a text to its references, and from these to sources and blocks."""
