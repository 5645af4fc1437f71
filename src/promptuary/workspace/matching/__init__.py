"""Which of the files are meant by what was typed."""
