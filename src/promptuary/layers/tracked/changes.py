"""Changes since the base was sent: each file as a diff or as its new text, whichever is smaller. Pure.

The base is repeated only while that pays: as soon as the changes have cost, over all requests since, as much as
rewriting the files, they are rewritten. So the total cost is at most twice that of the better choice.
"""

from collections.abc import Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from typing import Final, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from promptuary.base.blocks import Block, Detail
from promptuary.base.budget import TokenCounter
from promptuary.base.messages import MESSAGE_OVERHEAD, Item, cost
from promptuary.layers.layer import Recall
from promptuary.layers.tracked.base import Base, Shown, summaries_of
from promptuary.layers.tracked.blocks import HEADING, Offer, in_place
from promptuary.references.detail import whole
from promptuary.references.render import render, without_gap

UPDATES_HEADING: Final = (
    "# Changed Files\n\n"
    f'What stands here is current. Where a file also stands above, under "{HEADING}", that text of it is outdated.'
)

_AS_DIFF: Final = "the current version, as a diff to the outdated text above"
_AS_TEXT: Final = "the current version, in the place of the outdated text above"
_GONE: Final = "The text above is outdated."

_CONTEXT: Final = 3
"""Lines around a change."""
_COMPARED: Final = 1_000
"""The most lines that are compared one by one; if more differ, they are replaced as a whole."""


class RepeatedBase(Struct, frozen=True):
    """A base that can be repeated: its text from the ledger, and the files as they would be rewritten."""

    base: Base
    text: str
    anew: Recall


def changed_since(
    standing: RepeatedBase, offered: Sequence[Offer], budget: int, history: Sequence[Item], counter: TokenCounter
) -> tuple[Recall, int] | None:
    """Return the base with the changes since, and their cost; ``None`` if the files must be rewritten.

    That is so if they do not fit, if a file was untracked or may no longer be read, if pins or the compaction of the
    history changed, or if rewriting costs no more than the changes.
    """
    base, files = standing.base, standing.base.by_label
    pinned = tuple(sorted(one.file.label for one in offered if one.file.pinned))
    if not files.keys() <= {one.file.label for one in offered} or pinned != base.pinned:
        return None
    if summaries_of(history) != base.summaries or any(_is_refused(one, files) for one in offered):
        return None
    blocks, updates = _split(standing, offered, counter)
    recall = Recall([blocks[one.label] for one in base.files], HEADING, (), (), updates, UPDATES_HEADING)
    spent = counter.count(recall.updates_text) + MESSAGE_OVERHEAD
    if counter.count(standing.text) + spent > budget or base.paid + spent >= _anew(standing, history, counter):
        return None
    return recall, spent


def _is_refused(one: Offer, files: Mapping[str, Shown]) -> bool:
    """Return whether the base shows a file that may no longer be read: then it must not be sent again."""
    shown = files.get(one.file.label)
    return one.file.condition.state == "error" and shown is not None and shown.revision != ""


def _split(
    standing: RepeatedBase, offered: Sequence[Offer], counter: TokenCounter
) -> tuple[dict[str, Block], tuple[Block, ...]]:
    """Return the blocks of the base, by name, and those that follow the history."""
    files, blocks, updates = standing.base.by_label, dict[str, Block](), list[Block]()
    for one in offered:
        now, shown = in_place(one.file, one.most, counter), files.get(one.file.label)
        if shown is None:
            updates.append(now)
        elif now.text == shown.text(standing.text):
            blocks[shown.label] = now
        else:
            blocks[shown.label] = shown.block(standing.text)
            change = in_place(one.file, _change(one, shown.content(standing.text), counter), counter)
            updates.append(replace(change, reason=f"the current version; {change.reason}"))
    return blocks, tuple(updates)


def _change(one: Offer, before: str, counter: TokenCounter) -> Block:
    """Return the current file for a model that has seen ``before``."""
    most = one.most
    if not one.file.condition.readable:
        text = f"{without_gap(most, counter).text}\n{_GONE}\n\n"
        return replace(most, text=text, tokens=counter.count(text))
    source, (start, end) = most.source, most.body
    anew = whole(replace(source, facts=(*source.facts, _AS_TEXT)), counter)
    patch = diff(before, most.text[start:end])
    if not patch or len(patch) >= end - start:
        return anew
    small = replace(source, text=patch, facts=(*source.facts, _AS_DIFF), language="diff", first_line=None)
    patched = render(small, Detail.FULL, patch, counter)
    return min(patched, anew, key=lambda block: block.tokens)


def _anew(standing: RepeatedBase, history: Sequence[Item], counter: TokenCounter) -> int:
    """Return the cost of rewriting the files: all from the first that differs, and the history after them."""
    same, start, tokens = True, len(standing.anew.heading) + 2, 0
    for block in standing.anew.blocks:
        same = same and standing.text.startswith(block.text, start)
        start += len(block.text) + 2
        tokens += 0 if same else block.tokens
    return tokens + cost(history, counter)


class _Edit(NamedTuple):
    """Lines ``first`` to ``last`` of the old text become lines ``begin`` to ``end`` of the new one."""

    first: int
    last: int
    begin: int
    end: int


def diff(before: str, after: str) -> str:
    """Return a unified diff without file names; empty if the texts are the same. Lines end with a line feed only."""
    old, new = _lines(before), _lines(after)
    return "".join(_hunk(old, new, edits) for edits in _near(list(_edits(old, new))))


def _lines(text: str) -> list[str]:
    lines = [f"{line}\n" for line in text.split("\n")]
    if lines[-1] == "\n":
        return lines[:-1]
    return [*lines[:-1], f"{lines[-1]}\\ No newline at end of file\n"]


def _edits(old: Sequence[str], new: Sequence[str]) -> Iterator[_Edit]:
    """Yield the differences; fast for any lines, since equal lines at both ends are removed first."""
    head, most = 0, min(len(old), len(new))
    while head < most and old[head] == new[head]:
        head += 1
    tail = 0
    while tail < most - head and old[-1 - tail] == new[-1 - tail]:
        tail += 1
    left, right = old[head : len(old) - tail], new[head : len(new) - tail]
    if max(len(left), len(right)) > _COMPARED:
        yield _Edit(head, head + len(left), head, head + len(right))
        return
    for what, first, last, begin, end in SequenceMatcher(None, left, right).get_opcodes():
        if what != "equal":
            yield _Edit(head + first, head + last, head + begin, head + end)


def _near(edits: Sequence[_Edit]) -> Iterator[list[_Edit]]:
    """Yield the edits, grouping those whose contexts would touch."""
    group: list[_Edit] = []
    for one in edits:
        if group and one.first - group[-1].last > 2 * _CONTEXT:
            yield group
            group = []
        group.append(one)
    if group:
        yield group


def _hunk(old: Sequence[str], new: Sequence[str], edits: Sequence[_Edit]) -> str:
    first, last = max(edits[0].first - _CONTEXT, 0), min(edits[-1].last + _CONTEXT, len(old))
    begin, end = edits[0].begin - (edits[0].first - first), edits[-1].end + (last - edits[-1].last)
    lines, at = [f"@@ -{_span(first, last)} +{_span(begin, end)} @@\n"], first
    for one in edits:
        lines += [f" {line}" for line in old[at : one.first]]
        lines += [f"-{line}" for line in old[one.first : one.last]]
        lines += [f"+{line}" for line in new[one.begin : one.end]]
        at = one.last
    return "".join([*lines, *(f" {line}" for line in old[at:last])])


def _span(first: int, last: int) -> str:
    length = last - first
    return f"{first + (length > 0)},{length}" if length != 1 else f"{first + 1}"
