"""Finds the parts of a text that are copies of a note, and replaces them when it is forgotten. Pure.

A note is in prompts as a separate block or as a line of a list; both have its address, and are removed whole. Elsewhere
the same words may occur because somebody said them: there the words themselves are searched for, ignoring spacing, in
plain text and in JSON. One plain sentence replaces either, so that a replay says what is missing and does not look
damaged. Every store redacts in this way.
"""

import json
import re
import unicodedata
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any, Final, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from promptuary.base.blocks import Attachment, path_of
from promptuary.base.messages import Item, ToolCall, WireImage
from promptuary.context.receipt import Receipt, ReceiptEntry
from promptuary.database.columns import to_text
from promptuary.database.contents import MARK, mark, mentioned

_TICKS: Final = re.compile("`{3,}")
_LINE: Final = re.compile(r"[^\n]*\n|[^\n]+")
_SENTENCE_END: Final = re.compile(r"(?<=[.!?。！？])\s+")
_LIST_MARK: Final = re.compile(r"^\s*(?:[-*+>#]+|\d+[.)])\s+")

_QUOTES: Final = "\"'`´‘’‚‛“”„‟‹›«»"
_FOLDED: Final = (
    rf"(?:\s|\\+[nrt])+|\\+u([0-9a-fA-F]{{4}})(?:\\+u([dD][c-fC-F][0-9a-fA-F]{{2}}))?|(\\*[{_QUOTES}])|\\+"
    r"|[A-Za-z\u0080-\U0010ffff][\u0300-\u036f\u1160-\u11ff\u3099\u309a]+|[A-Z\u0080-\U0010ffff]"
)
"""What may be written differently in two copies of a text: spacing, what JSON escapes, quotes, case, composition."""
_ALIKE: Final = {
    **dict.fromkeys(map(ord, _QUOTES)),
    **dict.fromkeys(map(ord, "\u00ad\u200b\u200c\u200d\u2060\ufeff")),
    **dict.fromkeys(map(ord, "‐‑‒–—―−"), "-"),
}
"""Characters that people do not tell apart, or do not see."""
_FINAL: Final = ".!?…。！？"
"""The marks that end a sentence. A copy may have others, or none."""

_MIN_WHOLE: Final = 8
"""A shorter text is just a word, which occurs everywhere."""
_MIN_PART: Final = 20
_LONG: Final = 100
"""From this length, a passage may end within a word: checking word boundaries at each letter is slow."""


@cache
def _folded_pattern() -> re.Pattern[str]:
    """Return what is folded; compiled when something is forgotten, since that takes milliseconds."""
    return re.compile(_FOLDED)


class Passages(Struct, frozen=True):
    """Texts to find, by a word of each that is separate in every copy; by the empty word if they are too short."""

    by_word: Mapping[str, Sequence[str]]


class Edits(Struct, frozen=True):
    """Parts of a text, in order and without overlap, that ``mark`` replaces."""

    spans: tuple[tuple[int, int], ...]
    mark: str

    def __bool__(self) -> bool:
        """Return whether there is anything to edit."""
        return bool(self.spans)

    def of(self, text: str) -> str:
        """Return ``text`` after the edits."""
        parts, position = [], 0
        for start, end in self.spans:
            parts += [text[position:start], self.mark]
            position = end
        return "".join([*parts, text[position:]])

    def moved(self, offset: int) -> int:
        """Return where ``offset`` is after the edits; an offset within a part moves to the end of its mark."""
        shift = 0
        for start, end in self.spans:
            if offset <= start:
                break
            if offset < end:
                return start + shift + len(self.mark)
            shift += len(self.mark) - (end - start)
        return offset + shift


def id_of(address: str) -> str:
    """Return the id that an address has after its scheme."""
    return address.partition(":")[2]


def attached_notes(item: Item) -> set[str]:
    """Return the ids of the notes that were attached to an entry of a history."""
    return {note for attachment in item.attachments for note in mentioned(attachment.source)}


def passages(texts: Iterable[str]) -> Passages:
    """Return the passages that reveal copies of ``texts``: each of them, and each of their sentences.

    Short ones occur everywhere, and are left out.
    """
    found: dict[str, None] = {}
    for text in texts:
        whole = _comparable(text)
        if len(whole) >= _MIN_WHOLE:
            found[whole] = None
        for line in text.splitlines():
            bare = _LIST_MARK.sub("", line)
            parts = (_comparable(part) for part in (bare, *_SENTENCE_END.split(bare)))
            found |= dict.fromkeys(part for part in parts if len(part) >= _MIN_PART)
    by_word: dict[str, list[str]] = {}
    for passage in found:
        # The first and the last word may touch other text.
        by_word.setdefault(max(passage.split(" ")[1:-1], key=len, default=""), []).append(passage)
    return Passages(by_word)


def holds(text: str, wanted: Passages) -> bool:
    """Return whether ``text`` contains one of the passages."""
    folded, possible = _possible(text, wanted)
    return any(next(_occurrences(folded, passage), None) is not None for passage in possible)


def word_edits(text: str, address: str, wanted: Passages) -> Edits:
    """Return the edits that remove all of the passages from ``text``."""
    folded, possible = _possible(text, wanted)
    spans = [span for passage in possible for span in _occurrences(folded, passage)]
    return _edits(text, _unfold(text, _join(folded, spans)) if spans else [], address)


def block_edits(text: str, address: str) -> Edits:
    """Return the edits that remove the blocks of a note, and the lines that list it, from a message of a prompt."""
    path = path_of(address)
    if path and text.startswith("<instructions "):
        return _edits(text, list(_instructions(text, path)), address)
    named = text.startswith("# ") and (path or _url(address) or address) in text
    return _edits(text, list(_blocks(text, address)) if named else [], address)


def without_words(text: str, address: str, wanted: Passages) -> str:
    """Return ``text`` with the passages replaced by a mark."""
    return word_edits(text, address, wanted).of(text)


def without_blocks(text: str, address: str) -> str:
    """Return ``text`` with the blocks of a note replaced by a mark."""
    return block_edits(text, address).of(text)


def state_without(state: str, address: str, texts: Sequence[str], wanted: Passages) -> str:
    """Return the state of a layer, which is JSON, with the passages of ``texts`` replaced by a mark.

    In a record of an attachment, a list of the address, the label and more, a label of any length is removed.
    """
    left = without_words(state, address, wanted) if wanted.by_word else state
    if json.dumps(address) not in left:
        return left
    value = json.loads(left)
    named = [
        record for record in _lists(value) if record[:1] == [address] and len(record) > 1 and isinstance(record[1], str)
    ]
    titles = {_comparable(title) for title in texts}
    labelled = [record for record in named if _comparable(record[1]) in titles]
    for record in labelled:
        record[1] = mark(address)
    return to_text(value) if labelled else left


def _lists(value: Any) -> Iterator[list[Any]]:
    """Yield every list in a value of JSON, however deep, without recursion."""
    left = [value]
    while left:
        one = left.pop()
        if isinstance(one, list):
            yield one
        left += one if isinstance(one, list) else one.values() if isinstance(one, dict) else ()


def other_images(images: Sequence[WireImage], address: str) -> list[WireImage]:
    """Return the images of a message without those of the file that ``address`` means."""
    return [image for image in images if not _is_of(image["name"], address)]


def without_images(message: str, address: str) -> str:
    """Return the JSON of a message of a prompt without the descriptions of images of a file."""
    if '"images"' not in message:
        return message
    stored = json.loads(message)
    left = other_images(stored.get("images", ()), address)
    return message if left == list(stored.get("images", ())) else to_text(stored | {"images": left})


def receipt_without(receipt: Receipt, address: str, texts: Sequence[str]) -> Receipt:
    """Return a receipt that only says of a note that it was there."""
    wanted = passages(texts)
    # A warning may name a note by its title, which may be short.
    titles = sorted({" ".join(given.split()) for given in texts if given.strip()}, key=len, reverse=True)

    def clean(text: str) -> str:
        cleaned = without_words(text, address, wanted)
        for title in titles:
            if len(title) >= _MIN_WHOLE // 2:
                cleaned = cleaned.replace(title, mark(address))
        return cleaned

    def entry(one: ReceiptEntry) -> ReceiptEntry:
        if one.source != address:
            return one
        return replace(one, label=mark(address), revision="", reason="forgotten", score=None, lines=None)

    return replace(
        receipt,
        entries=[entry(line) for line in receipt.entries],
        failures=[replace(failure, reason=clean(failure.reason)) for failure in receipt.failures],
        warnings=[clean(warning) for warning in receipt.warnings],
    )


def item_without_blocks(item: Item, address: str) -> Item:
    """Return an entry of a history without the note that was attached to it."""
    own = [
        attachment
        for attachment in item.attachments
        if attachment.source == address and attachment.start < attachment.end
    ]
    spans = [*block_edits(item.content, address).spans, *((attachment.start, attachment.end) for attachment in own)]
    return _item(item, _edits(item.content, spans, address), address)


def item_without_words(item: Item, address: str, wanted: Passages) -> Item:
    """Return an entry of a history with the passages replaced by a mark, also in the arguments of tool calls."""
    calls = tuple(_call(call, address, wanted) for call in item.tool_calls)
    return replace(_item(item, word_edits(item.content, address, wanted), address), tool_calls=calls)


def _item(item: Item, edits: Edits, address: str) -> Item:
    attachments = tuple(_attachment(attachment, edits, address) for attachment in item.attachments)
    return replace(
        item, content=edits.of(item.content), attachments=attachments, words_start=edits.moved(item.words_start)
    )


def _attachment(one: Attachment, edits: Edits, address: str) -> Attachment:
    start, end = edits.moved(one.start), edits.moved(one.end)
    if one.source != address:
        return replace(one, start=start, end=end)
    return replace(one, label=mark(address), revision="", lines=None, start=end, end=end)


def _call(call: ToolCall, address: str, wanted: Passages) -> ToolCall:
    return replace(call, arguments=without_words(call.arguments, address, wanted))


def _edits(text: str, spans: Sequence[tuple[int, int]], address: str) -> Edits:
    """Return edits of ``spans``, those that touch or overlap as one."""
    merged: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        elif start < min(end, len(text)):
            merged.append((start, end))
    return Edits(tuple(merged), mark(address))


def _blocks(text: str, address: str) -> Iterator[tuple[int, int]]:
    """Yield where the blocks of a note begin and end, and the lines that list it.

    Text in a fence belongs to its block, whatever it looks like: ``core.render`` makes fences that no text can close.
    The person's own words follow the last block, and are not searched.
    """
    listed = re.compile(rf"- .*\({re.escape(address)}(?:, shared)?\)")
    moved_to = f"From: {url}" if (url := _url(address)) else None
    fence, begin, end, heading, top = "", -1, 0, False, -1
    for found in _LINE.finditer(text):
        line = found[0].rstrip("\n")
        if fence:
            fence = "" if line == fence else fence
            if begin < 0 and listed.fullmatch(line):
                yield found.start() + len("- "), found.start() + len(line)
        elif line.startswith(("# ", "## ")):
            if begin >= 0:
                yield begin, end
            if line == "# Message":
                return
            top = found.start()
            begin = top if _is_of(_label(line), address) else -1
            heading = True
            end = found.start() + len(line)
            continue
        elif begin >= 0 and text.endswith("\n\n", 0, found.start()) and MARK.fullmatch(line):
            # It replaces a separate block, which had a heading.
            yield begin, end
            begin = -1
        else:
            # The first fact, or the second if the first is the reference that brought it.
            if (heading and address in line.split("; ", 2)[:2]) or (top >= 0 and line == moved_to):
                begin = top
            if ticks := _TICKS.match(line):
                fence = ticks[0]
        heading = False
        end = found.start() + len(line) if line else end
    if begin >= 0:
        yield begin, end


def _label(heading: str) -> str:
    return heading.removeprefix("## ").partition(" {#")[0]


def _url(address: str) -> str:
    """Return the URL in the address of a page; empty for other addresses."""
    scheme, _, url = address.partition(":")
    return url if scheme == "url" else ""


def _is_of(label: str, address: str) -> bool:
    """Return whether a block with this label shows what ``address`` means: of a file, all of it, lines or a symbol."""
    path = path_of(address)
    of_file = path != "" and (label == path or label.startswith((f"{path}:", f"{path}#")))
    return of_file or label in {address, _url(address)} - {""}


def _instructions(text: str, path: str) -> Iterator[tuple[int, int]]:
    """Yield where a file is among the instructions."""
    opening, closing = f'<instructions source="{path}"', "\n</instructions>"
    start = text.find(opening)
    while start >= 0:
        end = text.find(closing, start)
        end = len(text) if end < 0 else end + len(closing)
        yield start, end
        start = text.find(opening, end)


def _possible(text: str, wanted: Passages) -> tuple[str, list[str]]:
    """Return ``text`` folded, and which passages it may contain: nearly always none, and then it is not folded."""
    is_escaped = "\\" in text
    folded = _fold(text) if is_escaped else _alike(text)
    words = {"", *folded.split()}
    possible = [passage for word, every in wanted.by_word.items() if word in words for passage in every]
    return (_fold(text) if possible and not is_escaped else folded), possible


def _comparable(text: str) -> str:
    """Return a text as it is searched for: folded, and without the mark at its end."""
    return _fold(text).strip().rstrip(f"{_FINAL} ")


def _fold(text: str) -> str:
    """Return ``text`` as people compare: without case, quotes, kinds of spacing, and what JSON escapes."""
    return _folded_pattern().sub(_plain, text)


def _alike(text: str) -> str:
    return unicodedata.normalize("NFKC", text).translate(_ALIKE).casefold()


def _plain(found: re.Match[str]) -> str:
    written, high, low, quote = found[0], found[1], found[2], found[3]
    if high is not None:
        pair = chr(int(high, 16)) + (chr(int(low, 16)) if low else "")
        return _alike(pair.encode("utf-16", "surrogatepass").decode("utf-16", "replace") if low else pair)
    if quote or not written.strip("\\"):
        return ""
    return " " if written[0] == "\\" or written.isspace() else _alike(written)


def _occurrences(folded: str, passage: str) -> Iterator[tuple[int, int]]:
    """Yield where ``passage`` occurs in a folded text; a short one only as whole words."""
    is_long = len(passage) >= _LONG
    start = folded.find(passage)
    while start >= 0:
        end = start + len(passage)
        begins = start == 0 or not (folded[start - 1].isalnum() and passage[0].isalnum())
        ends = end == len(folded) or not (folded[end].isalnum() and passage[-1].isalnum())
        is_apart = is_long or (begins and ends)
        if is_apart:
            while end < len(folded) and folded[end] in _FINAL:
                end += 1
            yield start, end
        start = folded.find(passage, end if is_apart else start + 1)


def _join(folded: str, spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return spans in order; those with nothing but a space between them as one."""
    joined: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if joined and not folded[joined[-1][1] : start].strip():
            joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
        else:
            joined.append((start, end))
    return joined


def _unfold(text: str, spans: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return where spans of the folded text are in ``text`` itself."""
    pieces: list[_Piece] = []
    position = 0
    for found in _folded_pattern().finditer(text):
        start = position + found.start() - (pieces[-1].end if pieces else 0)
        position = start + len(_plain(found))
        pieces.append(_Piece(start, position, found.start(), found.end(), is_quote=found[3] is not None))
    starts, ends = [piece.folded_start for piece in pieces], [piece.folded_end for piece in pieces]

    def place(first: int, *, is_end: bool) -> int:
        """Return where the character at ``first`` begins or ends, including its escape."""
        # An escape of zero length belongs to the character after it; a quote does not: in JSON it opens the text.
        number = bisect_left(starts, first)
        while not is_end and number < len(pieces) and starts[number] == first:
            if not pieces[number].is_quote:
                return pieces[number].start
            number += 1
        number = bisect_right(starts, first) - 1
        if number < 0:
            return first + is_end
        if first < ends[number]:
            return pieces[number].end if is_end else pieces[number].start
        return pieces[number].end + first - ends[number] + is_end

    return [(place(start, is_end=False), place(end - 1, is_end=True)) for start, end in spans]


class _Piece(NamedTuple):
    """A part of a text that is written differently when it is folded."""

    folded_start: int
    folded_end: int
    start: int
    end: int
    is_quote: bool
