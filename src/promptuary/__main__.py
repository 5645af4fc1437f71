"""The entry point, as ``promptuary`` or ``python -m promptuary``; it imports no code from the current folder.

For ``-m`` Python puts the current folder first on its path, so a file such as ``asyncio.py`` in a repository would be
run. Only a package called ``promptuary`` in the current folder is loaded before this: ``python -P -m`` is safe there.

The names of files are UTF-8 whatever the locale is: in one with another encoding Python is started again, told so.

A hook runs before every prompt of an agent, so it starts without the parser of commands.
"""

import gc
import os
import sys

if not sys.flags.safe_path and sys.path and os.path.abspath(sys.path[0]) == os.getcwd():  # noqa: PTH100, PTH109
    del sys.path[0]


def run() -> None:
    """Run the program and exit: the entry point of the ``promptuary`` script."""
    if sys.getfilesystemencoding() != "utf-8" and sys.executable:
        from promptuary.workspace.programs.utf8_mode import start_again  # noqa: PLC0415  (few locales need it)

        start_again()
    from promptuary.hooks.flags import of_hook  # noqa: PLC0415  (after the path is safe)

    if (arguments := of_hook(sys.argv[1:])) is not None:
        from promptuary.hooks.hook import leave, main  # noqa: PLC0415  (a hook needs nothing else)

        gc.disable()  # a hook creates few cycles, and ends soon
        leave(main(arguments))
    from promptuary.cli.main import run as run_command  # noqa: PLC0415  (see above)

    run_command()


if __name__ == "__main__":
    run()
