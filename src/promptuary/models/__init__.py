"""Optional models: embedders."""
