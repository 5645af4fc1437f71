"""Configuration: the settings, where each comes from, and which values it may have."""
