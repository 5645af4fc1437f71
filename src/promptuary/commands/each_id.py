"""Applies a function to each of several words; a refused word does not stop the others."""

from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

from promptuary.base.errors import PromptuaryError
from promptuary.base.text import one_line

Result = TypeVar("Result")


Worded = Callable[[PromptuaryError], str]
"""Words an error for the users of a surface: somebody in a remote chat cannot run a program here."""


async def one_by_one(
    words: Sequence[str], work: Callable[[str], Awaitable[Result]], worded: Worded
) -> tuple[Sequence[Result], Sequence[str]]:
    """Return the results of ``work``, and a sentence for each word that was refused."""
    done, refused = [], []
    for word in words:
        try:
            done.append(await work(word))
        except PromptuaryError as error:
            refused.append(one_line(worded(error)))
    return tuple(done), tuple(refused)
