"""Starts this program again with the names of files in UTF-8, whatever the locale says."""

import os
import sys


def start_again() -> None:
    """Replace this process with the same program in UTF-8 mode. Does not return."""
    os.execv(sys.executable, [sys.executable, "-X", "utf8", *sys.orig_argv[1:]])  # noqa: S606  (this program)
