"""What is true of texts: which language a file is in, and what of a text is shown where not all of it fits."""
