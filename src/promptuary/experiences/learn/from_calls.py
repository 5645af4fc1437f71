"""Extracts lessons from the tool calls of a finished turn: how the work was done, and how failures were fixed. Linear.

A turn becomes one ``tool_chain``; each failed call that a later one fixed becomes an ``error_recovery``. Stored are a
short form of what the person said, the names of tools and the types of their arguments with short values; no whole
message, no result, no secret, no address. Text from elsewhere does not become a value: what a call repeats of an
earlier result or of an attachment is replaced by a description, and turns that used the network are marked
``external``, so that nothing of them is shown before somebody confirms it. Pure.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from itertools import accumulate
from typing import Any, Final

from msgspec import Struct

from promptuary.base.messages import Item, ToolCall
from promptuary.base.text import one_line, shortened, visible
from promptuary.experiences.drafting import Lesson
from promptuary.experiences.learn.results import Result, error_name, result_of
from promptuary.experiences.scrub import scrub
from promptuary.memory.values import NoteTrust
from promptuary.memory.writeback.own_words import own_beginning, sentences
from promptuary.memory.writeback.snapshot import Foreign

MAX_INTENT: Final = 200
_MAX_CALLS: Final = 60
"""How many calls of a turn are examined, counted from the last."""
_MAX_STEPS: Final = 12
_MAX_HELP: Final = 6
_MAX_RECOVERIES: Final = 3
_MAX_ARGUMENTS: Final = 8
_MAX_TAGS: Final = 8
_MAX_JSON: Final = 64_000
_MAX_VALUE: Final = 80
_MAX_NAME: Final = 40
_MAX_NUMBER: Final = 10**15
_COPIED: Final = 12
"""The fewest letters of a text that counts as copied; half as many in scripts with short words."""
_MAX_READ: Final = 20_000
"""How many characters of each attachment and result are searched for copied texts."""
_MAX_EARLIER: Final = 200
"""How many earlier messages of a thread are searched for them."""
_ALIKE: Final = 0.4
"""The similarity from which two calls of one tool have the same purpose; calls of two tools need more."""
_ALIKE_ACROSS: Final = 0.5
_COMPARED: Final = 400
_SHORT: Final = 40
_NEAR: Final = 3
"""How many of the next calls may have the same purpose, if they use another tool."""
_OWN_TOOLS: Final = (
    "promptuary",
    "write_memory",
    "search_recall_memories",
    "list_memories",
    "find_experiences",
    "record_experience",
    "expand_references",
    "explain_turn",
)
"""Parts of the names of Promptuary's own tools: agents put the name of the server before them.

Reading or writing notes teaches nothing, and their arguments would repeat what a note is withheld for.
"""
_MEMORY_TOOL: Final = "memory"
"""The tool of a provider with which a model keeps notes."""
_WORD: Final = re.compile("[a-z]+")
_SPACE: Final = re.compile(r"\s")
_NO_LETTER: Final = r"(?:⟨U\+[0-9A-F]{4,6}⟩|[\W_])+"
_NO_NAME: Final = r"[^\w.\-]"
_NO_LETTERS: Final = {code: None for code in range(128) if not chr(code).isalnum()}


class Read(Struct, frozen=True):
    """The text from outside in a turn before a call: the first ``end`` characters of ``letters``.

    Only letters and digits are compared, so that neither spacing nor hidden characters disguise a copy.
    """

    letters: str
    end: int

    def has(self, text: str) -> bool:
        """Return whether it contains a text, if that is long enough; names and paths do not count."""
        if text.isascii() and not _SPACE.search(text):
            return False
        copied = _letters(text)
        return len(copied) >= (_COPIED if text.isascii() else _COPIED // 2) and (
            self.letters.find(copied, 0, self.end) >= 0
        )


class Call(Struct, frozen=True):
    """An answered tool call: its arguments, what had been read before, and its outcome.

    ``values`` is the beginning of its arguments as text, by which calls are compared.
    """

    tool: str
    arguments: Mapping[str, Any]
    values: str
    read: Read
    result: Result


def answered_calls(items: Sequence[Item], earlier: Sequence[Item] = ()) -> list[Call]:
    """Return the answered calls in the messages of a turn, in order, without those of Promptuary's own tools.

    What they repeat of results in ``earlier`` messages is not stored either.
    """
    answers: dict[str, list[Item]] = {}
    for item in items:
        if item.role == "tool":
            answers.setdefault(item.tool_call_id, []).append(item)
    texts = (item.content if item.role == "tool" else item.content[: item.words_start] for item in items)
    parts = [_letters(text[:_MAX_READ]) for text in texts]
    before = "".join(_letters(item.content[:_MAX_READ]) for item in earlier[-_MAX_EARLIER:] if item.role == "tool")
    ends = [*accumulate(map(len, parts), initial=len(before))]
    letters = "".join([before, *parts])
    found = [
        (call, waiting.pop(0), Read(letters, end))
        for item, end in zip(items, ends, strict=False)
        for call in item.tool_calls
        if (waiting := answers.get(call.id))
    ]
    return [_call(call, answer, read) for call, answer, read in found[-_MAX_CALLS:] if not _is_own(call.name)]


def _is_own(tool: str) -> bool:
    name = tool.casefold()
    return name == _MEMORY_TOOL or any(part in name for part in _OWN_TOOLS)


def lessons_from_calls(
    items: Sequence[Item], *, foreign: Foreign = "none", earlier: Sequence[Item] = ()
) -> list[Lesson]:
    """Return the lessons in the messages of a finished turn; ``items`` begin with the person's.

    ``foreign`` is the foreign text that the turn held; ``earlier`` are the messages before it.
    """
    intent = intent_of(items)
    calls = answered_calls(items, earlier)
    if not intent or not calls:
        return []
    trust: NoteTrust = "external" if foreign == "outside" else "agent"
    recovered = [_recovery(intent, calls, *pair, trust) for pair in _recoveries(calls)]
    # Where no call worked, there is nothing to do again.
    chain = [] if all(call.result.failed for call in calls) else [_chain(intent, calls, trust)]
    return [*chain, *recovered]


def intent_of(items: Sequence[Item]) -> str:
    """Return what the person wanted, in brief and in their own words; empty if they said nothing themselves."""
    asked = next((item for item in items if item.role == "user" and item.kind == "message"), None)
    if asked is None:
        return ""
    brief = ""
    for sentence in sentences(scrub(own_beginning(asked.words))):
        if brief and len(brief) + len(sentence) >= MAX_INTENT:
            break
        brief = f"{brief} {sentence}".strip()
    return _shorten(brief, MAX_INTENT)


def _chain(intent: str, calls: Sequence[Call], trust: NoteTrust) -> Lesson:
    worked = sum(not call.result.failed for call in calls)
    last = calls[-1].result
    return Lesson(
        "tool_chain",
        intent,
        {"steps": _steps(calls, _MAX_STEPS)},
        {
            "outcome": "failure" if last.failed else "success",
            "problem": _scrub_problem(last.problem) if last.failed else "",
            "success_score": round(worked / len(calls), 4),
            "tags": _tags(calls),
        },
        trust,
    )


def _recovery(intent: str, calls: Sequence[Call], failed: int, helped: int, trust: NoteTrust) -> Lesson:
    wrong, help_ = calls[failed], calls[failed + 1 : helped + 1]
    worked = sum(not call.result.failed for call in help_)
    error = error_name(wrong.result.problem)
    return Lesson(
        "error_recovery",
        intent,
        {"error": error, "failed": _step(wrong), "helped": _steps(help_, _MAX_HELP)},
        {
            "problem": _scrub_problem(wrong.result.problem),
            "success_score": round(worked / len(help_), 4),
            "tags": _tags([wrong, *help_], error),
        },
        trust,
    )


def _recoveries(calls: Sequence[Call]) -> list[tuple[int, int]]:
    """Return the failed calls that a later call fixed, each with that call; at most the last few.

    Several failures fixed by one call are one recovery, from the first of them.
    """
    found: dict[int, int] = {}
    pieces = cache(lambda at: _pieces(calls[at].values))  # few calls are compared
    for at, call in enumerate(calls):
        if call.result.failed and (good := _find_fix(calls, pieces, at)) is not None:
            found.setdefault(good, at)
    return sorted((failed, good) for good, failed in found.items())[-_MAX_RECOVERIES:]


def _find_fix(calls: Sequence[Call], pieces: Callable[[int], frozenset[str]], failed: int) -> int | None:
    wrong = calls[failed]
    for at, call in enumerate(calls[failed + 1 :], failed + 1):
        same = call.tool == wrong.tool
        if call.result.failed or not (same or at <= failed + _NEAR):
            continue
        if _likeness(pieces(at), pieces(failed)) >= (_ALIKE if same else _ALIKE_ACROSS):
            return at
    return None


def _likeness(one: frozenset[str], other: frozenset[str]) -> float:
    """Return the similarity of the values of two calls, from 0 to 1."""
    return 1.0 if one == other else 2 * len(one & other) / (len(one) + len(other))


def _pieces(text: str) -> frozenset[str]:
    """Return the pairs of letters of a short text, or the triples of a long one, in which most pairs occur."""
    return frozenset(text[at : at + 3] for at in range(len(text) - 2)) | frozenset(
        text[at : at + 2] for at in range(min(len(text), _SHORT) - 1)
    )


def _call(call: ToolCall, item: Item, read: Read) -> Call:
    arguments = _arguments(call.arguments)
    values = " ".join(_leaves(arguments, _MAX_ARGUMENTS))[:_COMPARED].casefold()
    return Call(_safe_name(call.name), arguments, values, read, result_of(item))


def _arguments(text: str) -> Mapping[str, Any]:
    """Return the arguments of a call; anything but a JSON object is one argument without a name."""
    if len(text) > _MAX_JSON:
        return {"": text}
    try:
        value = json.loads(text or "{}")
    except (ValueError, RecursionError):
        return {"": text}
    return value if isinstance(value, dict) else {"": value}


def _leaves(value: Any, most: int) -> Iterator[str]:
    """Yield the first plain values of arguments as text, one level deep."""
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else [value]
    for leaf in [*inner][:most]:
        if isinstance(leaf, str):
            yield leaf[:_COMPARED]
        elif isinstance(leaf, int | float):
            yield str(leaf)
        elif isinstance(leaf, list):
            yield from (part[:_COMPARED] for part in leaf[:most] if isinstance(part, str))


def _stored_value(value: Any, read: Read) -> Any:
    """Return a value as it is stored: itself if it is short and not text from elsewhere, else a description.

    Secrets are removed from whole values when it is stored, as from everything.
    """
    match value:
        case None | bool():
            return value
        case int() | float():
            return value if -_MAX_NUMBER < value < _MAX_NUMBER else "<number>"
        case str():
            return _stored_text(value, read)
        case list():
            return f"<list of {len(value):,}>"
        case dict():
            names = ", ".join(map(_safe_name, [*value][:_MAX_ARGUMENTS]))
            return f"<object: {names}>"
        case _:
            return "<value>"


def _stored_text(value: str, read: Read) -> str:
    text = value.strip()
    if len(text) > _MAX_VALUE or "\n" in text:
        return f"<text of {len(value):,} characters>"
    if "://" in text:
        return "<address>"
    if read.has(text):
        return "<text from elsewhere>"
    return one_line(text)


def _steps(calls: Sequence[Call], most: int) -> list[dict[str, Any]]:
    """Return calls as they are stored: if there are too many, the first and the last, and how many are left out."""
    if len(calls) <= most:
        return [_step(call) for call in calls]
    half = most // 2
    left_out = {"left_out": len(calls) - 2 * half}
    return [*map(_step, calls[:half]), left_out, *map(_step, calls[-half:])]


def _step(call: Call) -> dict[str, Any]:
    given = [*call.arguments.items()][:_MAX_ARGUMENTS]
    shown = {_safe_name(name): _stored_value(value, call.read) for name, value in given}
    return {"tool": call.tool, "arguments": shown, "ok": not call.result.failed}


def _tags(calls: Sequence[Call], *also: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(filter(None, (*also, *(call.tool for call in calls)))))[:_MAX_TAGS]


def _safe_name(name: object) -> str:
    """Return the name of a tool or an argument without characters that are invalid in names."""
    return re.sub(_NO_NAME, "_", str(name)[:_MAX_NAME])


def _scrub_problem(text: str) -> str:
    return _shorten(one_line(scrub(text)), _MAX_VALUE * 2)


def _shorten(text: str, most: int) -> str:
    return shortened(visible(text)[0], most, " …")


def _letters(text: str) -> str:
    return text.translate(_NO_LETTERS).casefold() if text.isascii() else re.sub(_NO_LETTER, "", text).casefold()
