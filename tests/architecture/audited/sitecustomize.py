"""Loaded by every program that is started with this folder in ``PYTHONPATH``: it watches itself."""

from importlib import import_module

import_module("door").from_environment()
