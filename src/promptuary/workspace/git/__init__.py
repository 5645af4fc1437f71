"""Runs git so that no code of a hostile repository is executed, and applies the read policy to its patches."""
