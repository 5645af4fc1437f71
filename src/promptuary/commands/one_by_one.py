"""Does something with each of several words; one that is refused keeps none of the others from being done."""

from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

from promptuary.core.errors import PromptuaryError
from promptuary.core.text import one_line

Result = TypeVar("Result")


Worded = Callable[[PromptuaryError], str]
"""Returns an error as a sentence for the people of a surface: somebody in a chat cannot run a program here."""


async def one_by_one(
    words: Sequence[str], work: Callable[[str], Awaitable[Result]], worded: Worded
) -> tuple[Sequence[Result], Sequence[str]]:
    """Return what ``work`` gave, and a sentence for each word with which nothing was done."""
    done, refused = [], []
    for word in words:
        try:
            done.append(await work(word))
        except PromptuaryError as error:
            refused.append(one_line(worded(error)))
    return tuple(done), tuple(refused)
