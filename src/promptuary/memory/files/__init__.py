"""The formats of the files of a memory: text to values and back, without input or output."""
