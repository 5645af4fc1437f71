"""Measurements: each module prints a table with us and a peer or a limit, taken in the same run."""

import os
import sys

# As for anybody who installed it: what was compiled once is kept, whatever this environment says.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False
