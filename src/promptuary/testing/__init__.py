"""Helpers for tests of Promptuary and of programs built on it: real implementations, small and local."""
