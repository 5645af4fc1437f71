"""Properties of texts: the language of a file, and what is shown of a text that does not fit."""
