"""Compacts a history that has grown too long: one module per strategy."""
