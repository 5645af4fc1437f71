"""Uses other programs: the editor, the clipboard, and those that convert documents to text."""
