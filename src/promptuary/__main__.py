"""``python -m promptuary`` is ``promptuary``, and like it takes no code from the current folder.

For ``-m`` Python puts the current folder first on its path, so a file such as ``asyncio.py`` in a repository would be
run. Only a package called ``promptuary`` in the current folder is loaded before this: ``python -P -m`` is safe there.
"""

import os
import sys

if not sys.flags.safe_path and sys.path and os.path.abspath(sys.path[0]) == os.getcwd():  # noqa: PTH100, PTH109
    del sys.path[0]

from promptuary.cli.main import run

if __name__ == "__main__":
    run()
