"""Promptuary: the context and memory engine."""

from promptuary._version import __version__

__all__ = ["__version__"]
