"""Checks the arguments that a program passes to an adapter: the facade without ``async``, and the name of a thread.

A mistake is reported where it is made: a framework calls an adapter much later, and hides the cause.
"""

from promptuary import blocking
from promptuary.base.errors import PromptuaryError


def checked_facade(given: object) -> blocking.Promptuary:
    """Return the facade. Raises ``PromptuaryError`` if it is something else."""
    if not isinstance(given, blocking.Promptuary):
        kind = f"{type(given).__module__}.{type(given).__qualname__}"
        raise PromptuaryError(
            f"adapters take promptuary.blocking.Promptuary, also where an event loop is running; not {kind}"
        )
    return given


def checked_thread(given: object) -> str:
    """Return the name of a thread. Raises ``PromptuaryError`` if it is something else."""
    if not isinstance(given, str):
        raise PromptuaryError(f"thread is the name of a thread, such as 'review', and not {given!r:.60}")
    return given
