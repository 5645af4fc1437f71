"""Completion: what the menus offer, and scripts for shells."""
