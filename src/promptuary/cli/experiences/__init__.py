"""Commands about experiences."""
