"""Files that are not text but hold some: PDF, DOCX, notebooks."""
