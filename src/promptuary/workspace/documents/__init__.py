"""Files that are not text but contain text: PDF, DOCX, notebooks."""
