"""Experiences on the command line."""
