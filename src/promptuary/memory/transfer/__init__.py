"""Imports notes from other memories, and exports notes as files."""
