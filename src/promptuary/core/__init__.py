"""Values and rules: standard library and msgspec only, no input or output, no imports from the rest of the package."""
