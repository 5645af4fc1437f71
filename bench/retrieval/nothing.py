"""Messages that ask for nothing (greetings, thanks, small talk in five languages): which of them recall answers."""

from pathlib import Path
from typing import Final

from promptuary.blocking import Promptuary
from promptuary.references.kinds.search_hits import recallable
from promptuary.references.message import ParsedMessage
from promptuary.search.query import unquoted
from promptuary.search.values import SearchQuery

_LIST: Final = Path(__file__).parents[2] / "tests" / "fixtures" / "messages_that_ask_for_nothing.txt"


def messages() -> list[str]:
    """Return the messages of the list."""
    return listed(_LIST)


def listed(path: Path) -> list[str]:
    """Return the messages of a file, one a line; ``#`` begins a remark."""
    lines = path.read_text(encoding="utf-8").splitlines()
    return [line for line in lines if line.strip() and not line.startswith("#")]


def brought_in(promptuary: Promptuary) -> list[bool]:
    """Return for each message whether recall would bring anything in, as the layer decides that."""
    return [
        bool(words.strip() and recallable(promptuary.search.find(SearchQuery(unquoted(words), 1, per_file=0))))
        for words in (ParsedMessage(message).words for message in messages())
    ]
