"""The catalogue: which files and chunks are indexed, and which changes are pending."""
