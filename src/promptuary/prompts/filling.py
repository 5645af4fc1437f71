"""Fills the arguments of a prompt in: what was written after its name becomes values, these the message. Pure.

Each hole is filled once: a value is data, and nothing in it is a hole, whatever it looks like.
"""

import re
import shlex
from collections.abc import Mapping, Sequence
from typing import Final

from promptuary.base.errors import PromptuaryError
from promptuary.base.text import one_line
from promptuary.prompts.values import ALL_WORDS, WORDS, Argument, NamedPrompt

MAX_TEXT: Final = 1_000_000
"""The most characters of a message that a prompt gives."""
_FLAG: Final = re.compile(r"--([A-Za-z][\w-]*)(?:=(.*))?", re.DOTALL)
_NAMED: Final = re.compile(r"([A-Za-z][\w-]*)=(.*)", re.DOTALL)
_SHOWN: Final = 60

PromptArguments = str | Sequence[str] | Mapping[str, str]
"""What is written after the name of a prompt: a text as in a chat, the words of a shell, or values by name."""


def filled_text(prompt: NamedPrompt, given: PromptArguments) -> str:
    """Return the message that ``prompt`` gives. Raises ``PromptuaryError`` that says which argument is missing."""
    if isinstance(given, Mapping):
        named, raw = _by_name(prompt, given)
        words = _words(raw)
    else:
        words = _words(given) if isinstance(given, str) else list(given)
        # Without names, everything is as it was written, with its quotes and line ends.
        named, raw = {}, given.strip() if isinstance(given, str) else " ".join(words)
        if prompt.arguments:
            named, words = _sorted(prompt, words)
            words = words if prompt.takes_words else _in_order(prompt, named, words)
            raw = " ".join(words)
    values = {one.name: one.default for one in prompt.arguments if one.default is not None} | named
    if missing := [one for one in prompt.arguments if one.name not in values]:
        needs = "; ".join(_described(one) for one in missing)
        raise PromptuaryError(f"{prompt.name} needs {needs}: write --{missing[0].name} VALUE after it")
    values |= {ALL_WORDS: raw, **{str(number): word for number, word in enumerate(words[:9], 1)}}
    parts = [one if isinstance(one, str) else values.get(one.name, "") for one in prompt.template]
    if raw and not prompt.takes_words:
        parts.append(f"\n\n{raw}")
    if sum(map(len, parts)) > MAX_TEXT:
        raise PromptuaryError(f"the message of {prompt.name} would have more than {MAX_TEXT:,} characters; write less")
    return "".join(parts).strip()


def _by_name(prompt: NamedPrompt, given: Mapping[str, str]) -> tuple[dict[str, str], str]:
    """Return the values of arguments, and the words beside them."""
    known = {one.name for one in prompt.arguments}
    if unknown := [name for name in given if name not in known and name != WORDS]:
        raise _no_argument(prompt, unknown[0])
    return {name: value for name, value in given.items() if name in known}, (
        "" if WORDS in known else given.get(WORDS, "").strip()
    )


def _sorted(prompt: NamedPrompt, words: Sequence[str]) -> tuple[dict[str, str], list[str]]:
    """Return what is written with a name, and the other words."""
    known = {_plain(one.name): one.name for one in prompt.arguments}
    values: dict[str, str] = {}
    others: list[str] = []
    rest = iter(words)
    for word in rest:
        if flag := _FLAG.fullmatch(word):
            name = known.get(_plain(flag[1]))
            if name is None:
                raise _no_argument(prompt, flag[1])
            value = flag[2] if flag[2] is not None else next(rest, None)
            if value is None:
                raise PromptuaryError(f"--{name} of {prompt.name} needs a value after it")
            values[name] = value
        elif (named := _NAMED.fullmatch(word)) and (name := known.get(_plain(named[1]))):
            values[name] = named[2]
        else:
            others.append(word)
    return values, others


def _in_order(prompt: NamedPrompt, values: dict[str, str], words: list[str]) -> list[str]:
    """Give the words to the arguments that have no value yet, the rest to the last of them; return what is left."""
    free = [one.name for one in prompt.arguments if one.name not in values]
    for name in free[:-1]:
        if words:
            values[name], words = words[0], words[1:]
    if free and words:
        values[free[-1]], words = " ".join(words), []
    return words


def _plain(name: str) -> str:
    return name.lower().replace("_", "-")


def _words(text: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError:  # an apostrophe, not a quotation mark
        return text.split()


def _no_argument(prompt: NamedPrompt, name: str) -> PromptuaryError:
    takes = ", ".join(f"--{one.name}" for one in prompt.arguments) or "words without a name"
    return PromptuaryError(f"{prompt.name} has no argument {one_line(name)[:_SHOWN]}; it takes {takes}")


def _described(one: Argument) -> str:
    return f"{one.name} ({one.description})" if one.description else one.name
