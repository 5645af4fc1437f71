"""What other programs do for a person: the editor, the clipboard, and those that turn documents into text."""
