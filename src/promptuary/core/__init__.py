"""Values and rules: only the standard library, no input or output, no imports from the rest of the package."""
