"""Whether the package of the Model Context Protocol is installed, which is an extra. Does not import it."""

import importlib.util

from promptuary.base.errors import PromptuaryError, how_to_install


def check_mcp() -> None:
    """Raise ``PromptuaryError`` if the packages of the protocol are not installed."""
    # Version 1 of the package has no mcp_types.
    if importlib.util.find_spec("mcp") is None or importlib.util.find_spec("mcp_types") is None:
        raise PromptuaryError(f"promptuary mcp needs the 'mcp' extra: {how_to_install('mcp')}")
