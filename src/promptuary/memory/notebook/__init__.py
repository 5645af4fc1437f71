"""The notes of one agent in one place: written, read, and synchronised with what people do to the files."""
