"""``promptuary ask``: a question on the command line, and what is shown of its answer."""
