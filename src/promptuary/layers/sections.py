r"""Texts between tags that they cannot close, cut to what fits. Pure.

A ``Section`` is a source with its tag; ``recall`` shows several as blocks within a budget. The text is unchanged except
for the section's own tag: where the text opens or closes it, in any case and spacing, it gets a backslash after the
``<`` (one more if there are some already), which is easy to read and which ``unescaped`` reverts. Other mark-up in the
text, CDATA included, is left alone: a model reads this, not a parser.

Render, then measure: what is counted is the text that is sent.
"""

import re
import unicodedata
from collections.abc import Sequence
from functools import lru_cache

from msgspec import Struct
from msgspec.structs import replace

from promptuary.base.blocks import Block, Detail, Omitted, Source
from promptuary.base.budget import Claim, TokenCounter, allocate
from promptuary.base.errors import ConfigError
from promptuary.base.excerpt import largest
from promptuary.base.text import one_line, visible, with_unix_lines
from promptuary.layers.layer import Recall

_NAME_START = (
    r"A-Z_a-z\xc0-\xd6\xd8-\xf6\xf8-\u02ff\u0370-\u037d\u037f-\u1fff\u2070-\u218f\u2c00-\u2fef\u3001-\ud7ff"
    r"\uf900-\ufdcf\ufdf0-\ufffd\U00010000-\U000effff"
)
_NAME_CHAR = _NAME_START + r"\-.0-9\xb7\u0300-\u036f\u203f\u2040"
_STEPS = 16
_LONGEST_CLUSTER = 16


_ASCII_NAME = re.compile(r"[A-Z_a-z][A-Z_a-z\-.0-9]*")


@lru_cache(maxsize=1)
def _name_pattern() -> re.Pattern[str]:
    """Return the pattern of names with other letters; compiled when one is met, since that takes milliseconds."""
    return re.compile(f"[{_NAME_START}][{_NAME_CHAR}]*")


class Section(Struct, frozen=True):
    """A source to be shown between tags.

    Its text is already ``readable``. ``name``, if any, is written in the opening tag. ``most`` is the most characters
    that are shown, whatever the budget. ``rest`` says where the part that was cut can be read. If not all sections fit,
    those with a lower ``rank`` are dropped first, and of equals the later.
    """

    tag: str
    source: Source
    name: str = ""
    reason: str = ""
    most: int | None = None
    rest: str = ""
    rank: int = 0

    @property
    def text(self) -> str:
        return self.source.text


def check_tag(tag: object) -> None:
    """Raise ``ConfigError`` unless ``tag`` is an XML name."""
    if isinstance(tag, str) and _ASCII_NAME.fullmatch(tag):
        return
    if not isinstance(tag, str) or not _name_pattern().fullmatch(tag) or visible(tag)[1]:
        raise ConfigError(
            f"tag must be an XML name (letters, digits, '-', '_' and '.', starting with a letter), not {tag!r}"
        )


def readable(text: str) -> str:
    """Return ``text`` as a model gets it: no byte order mark, Unix line ends, nothing hidden."""
    return visible(with_unix_lines(text.removeprefix("\ufeff")))[0]


def escaped(text: str, tag: str) -> str:
    """Return ``text`` with every opening and closing ``tag`` in it escaped."""
    return _own_tag(tag).sub(r"<\\\1", text)


def unescaped(text: str, tag: str) -> str:
    """Undo ``escaped``."""
    return _own_tag(tag).sub(lambda match: "<" + match.group(1).removeprefix("\\"), text)


@lru_cache(maxsize=64)
def _own_tag(tag: str) -> re.Pattern[str]:
    # Only single characters are repeated possessively; the time is linear.
    return re.compile(rf"<(\\*+\s*+/?+\s*+{re.escape(tag)}(?![\w.\-]))", re.IGNORECASE)


def recall(
    sections: Sequence[Section],
    budget: int,
    counter: TokenCounter,
    omitted: Sequence[Omitted] = (),
    notes: Sequence[str] = (),
) -> Recall | None:
    """Return ``sections`` in at most ``budget`` tokens, each whole, cut, or left out with a reason.

    Sections that are cut or left out also add a note for the person, after ``notes``. A budget of zero or less means no
    limit: everything is returned, and the caller decides what to do with it.
    """
    fitter = _Fitter(counter)
    shown = fitter.fit([section for section in sections if section.text.strip()], budget)
    blocks = [fitter.priced(section, block) for section, block in shown if block]
    missing = [_missing(section, budget, fitter.cost(section)) for section, block in shown if not block]
    if not (blocks or missing or omitted):
        return None
    lost = (_lost(section, block, budget) for section, block in shown)
    return Recall(blocks, omitted=(*omitted, *missing), notes=(*notes, *filter(None, lost)))


def not_sent(label: str, reason: str) -> str:
    """Return the note for the person that something is not sent at all."""
    return one_line(f"{label} is not sent: {reason}")


def _lost(section: Section, block: Block | None, budget: int) -> str:
    """Return the note that ``section`` is cut or left out; empty if it is whole."""
    if block is None:
        return not_sent(section.source.label, _does_not_fit(budget))
    return "" if block.detail is Detail.FULL else one_line(f"{section.source.label} is cut: {block.reason}")


def _does_not_fit(budget: int) -> str:
    return f"not even its first words fit into {budget:,} tokens"


def _missing(section: Section, budget: int, tokens: int) -> Omitted:
    source, reason = section.source, "; ".join(filter(None, [section.reason, _does_not_fit(budget)]))
    return Omitted(source.label, reason, source.address, tokens=tokens)


class _Fitter:
    """Fits sections into a budget, by the counter of the turn."""

    def __init__(self, counter: TokenCounter) -> None:
        self._counter = counter

    def fit(self, sections: Sequence[Section], budget: int) -> list[tuple[Section, Block | None]]:
        """Return each section with what is shown of it."""
        wholes = [self._shown(section, _most(section)) for section in sections]
        if not budget > 0 or self._cost(wholes) <= budget:
            return list(zip(sections, wholes, strict=True))
        # The cut must not move with every small change of the budget: providers cache unchanged prefixes.
        shown = self._within(sections, wholes, _rounded(budget), budget)
        if not any(shown):
            shown = self._within(sections, wholes, budget, budget)
        return list(zip(sections, shown, strict=True))

    def priced(self, section: Section, block: Block) -> Block:
        """Return a block of ``section``; if that is cut, with what it would cost whole."""
        return block if block.detail is Detail.FULL else replace(block, whole_tokens=self.cost(section))

    def cost(self, section: Section) -> int:
        """Return what ``section`` costs whole."""
        return self._counter.count(_wrapped(section, len(section.text))[0])

    def _within(
        self, sections: Sequence[Section], wholes: Sequence[Block], target: int, budget: int
    ) -> list[Block | None]:
        while target > 0:
            shown = self._shared(sections, wholes, target)
            excess = self._cost(shown) - budget
            if excess <= 0:
                return shown
            target -= excess
        return [None] * len(sections)

    def _shared(self, sections: Sequence[Section], wholes: Sequence[Block], target: int) -> list[Block | None]:
        """Share ``target`` among as many sections as can be shown in it at all."""
        least = [min(self._shown(one, 0), whole, key=_tokens) for one, whole in zip(sections, wholes, strict=True)]
        chosen = _affordable(sections, [one.tokens for one in least], target)
        shares = allocate([Claim(wholes[index].tokens, least[index].tokens) for index in chosen], target)
        shown: list[Block | None] = [None] * len(sections)
        for index, share in zip(chosen, shares, strict=True):
            whole = wholes[index]
            shown[index] = whole if whole.tokens <= share else self._cut(sections[index], share, least[index])
        return shown

    def _cut(self, section: Section, budget: int, least: Block) -> Block:
        """Return as much of the beginning of ``section`` as fits."""
        most = min(_most(section), len(section.text) - 1)
        shown = largest(lambda kept: self._shown(section, _boundary(section.text, kept)), _tokens, budget, most=most)
        return shown or least

    def _shown(self, section: Section, kept: int) -> Block:
        """Return the first ``kept`` characters of ``section`` as a block."""
        left_out = len(section.text) - kept
        text, body = _wrapped(section, kept)
        detail = Detail.FULL if not left_out else Detail.EXCERPT if kept else Detail.PATH
        cut = f"{left_out:,} of {len(section.text):,} characters left out" if left_out else ""
        reason = "; ".join(filter(None, [section.reason, cut]))
        return Block(section.source, detail, text, self._counter.count(text), body, reason=reason)

    def _cost(self, shown: Sequence[Block | None]) -> int:
        return self._counter.count(Recall([block for block in shown if block]).text)


def _tokens(block: Block) -> int:
    return block.tokens


def _most(section: Section) -> int:
    """Return the most characters that are shown, whatever the budget."""
    length = len(section.text)
    return length if section.most is None or section.most >= length else _boundary(section.text, section.most)


def _rounded(budget: int) -> int:
    """Return ``budget`` rounded down by at most a sixteenth."""
    step = max(1 << budget.bit_length() >> (_STEPS.bit_length()), 1)
    return budget - budget % step


def _affordable(sections: Sequence[Section], least: Sequence[int], target: int) -> list[int]:
    """Return the indices of the sections whose least form fits into ``target`` tokens together, in order."""
    chosen = sorted(range(len(sections)), key=lambda index: (-sections[index].rank, index))
    while chosen and sum(least[index] for index in chosen) > target:
        chosen.pop()
    return sorted(chosen)


def _wrapped(section: Section, kept: int) -> tuple[str, tuple[int, int]]:
    """Return the first ``kept`` characters of a section between its tags, and where they start and end in that."""
    body, left_out = section.text[:kept], len(section.text) - kept
    remark = ""
    if left_out:
        where = f"; the rest is in {one_line(section.rest)}" if section.rest else ""
        gap = "" if not body or body.endswith("\n") else "\n"
        remark = f"{gap}[… {left_out:,} of {len(section.text):,} characters left out{where}]"
    name = f' source="{_attribute(section.name)}"' if section.name else ""
    opening, inside = f"<{section.tag}{name}>\n", escaped(body + remark, section.tag)
    return f"{opening}{inside}\n</{section.tag}>", (len(opening), len(opening) + len(inside))


def _attribute(value: str) -> str:
    text = one_line(value).replace("&", "&amp;").replace('"', "&quot;")
    return text.replace("<", "&lt;").replace(">", "&gt;")


def _boundary(text: str, kept: int) -> int:
    """Return where to cut ``text`` so that at most ``kept`` characters stay: after a line, a word, or a character."""
    if text[kept] == "\n":
        return kept
    line = text.rfind("\n", 0, kept) + 1
    if line * 2 >= kept:
        return line
    if not text[kept].isspace():
        word = max(text.rfind(" ", 0, kept), text.rfind("\t", 0, kept))
        if word * 2 >= kept:
            return word
    return _whole_character(text, kept)


def _whole_character(text: str, kept: int) -> int:
    """Return ``kept``, or a little less, so that neither a spelled-out character nor a combining one is split."""
    spelled = text.rfind("⟨", max(kept - 10, 0), kept)
    if spelled > 0 and text.find("⟩", spelled, kept) < 0:
        return spelled
    least = max(kept - _LONGEST_CLUSTER, 0)
    while kept > least and (_leans(text[kept]) or text[kept - 1] == "\u200d"):
        kept -= 1
    return kept


def _leans(char: str) -> bool:
    """Return whether ``char`` combines with the one before it."""
    return unicodedata.category(char) in {"Mn", "Mc", "Me", "Cf"} or "\U0001f3fb" <= char <= "\U0001f3ff"
