"""Helpers for tests of plug-ins and of programs built on Promptuary: real implementations, small and local."""
