"""Values and rules: standard library only, no input or output, imports nothing of ours."""
