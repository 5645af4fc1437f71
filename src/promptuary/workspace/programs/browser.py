"""Opens an address in the browser of the person at this machine, without showing it to other users.

The arguments of a process can be read by everybody on the machine, so the browser is given a file that only the person
may read, and that leads on.
"""

import os
import sys
import webbrowser
from html import escape
from typing import Final

from promptuary.base import durable
from promptuary.workspace.user_folders import make_folder, state_folder

_PAGE: Final = """<!doctype html><meta charset="utf-8"><meta http-equiv="refresh" content="0; url={0}">
<title>Promptuary</title><a href="{0}">Continue to Promptuary</a>
"""


def open_in_browser(address: str) -> bool:
    """Open an address, and return whether there is a browser. The file stays until the next one replaces it."""
    has_screen = sys.platform == "darwin" or any(map(os.environ.get, ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER")))
    if not has_screen:
        return False
    file = make_folder(state_folder()) / "open.html"
    durable.replace(file, _PAGE.format(escape(address)).encode(), mode=0o600)
    try:
        return webbrowser.open(file.as_uri())
    except webbrowser.Error:
        return False
