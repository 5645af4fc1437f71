"""The notes of one agent in one place: written, read, and kept equal to what people do to the files."""
