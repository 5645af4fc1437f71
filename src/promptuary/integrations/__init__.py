"""Adapters to frameworks that agents are built with, one module each; every one of them is an extra."""
