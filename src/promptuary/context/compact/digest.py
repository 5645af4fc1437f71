"""A summary without a model: quotes the lines of a conversation that matter. Pure.

It lists what the person asked for, in order; decisions; questions; files, links and names; sentences with figures; and
tool calls. It quotes and never rephrases. Digesting a digest keeps its entries, because the sections are parsed again.
The same items give the same digest, byte for byte.

Decisions, questions and facts come from persons and assistants only. Of a tool's result, which anybody may have
written, at most one line is quoted, next to its call.
"""

import re
from collections.abc import Iterable, Sequence

from msgspec import Struct, field

from promptuary.base.budget import TokenCounter, water_fill
from promptuary.base.messages import Item
from promptuary.base.text import one_line
from promptuary.context.compact.envelope import body_of
from promptuary.context.compact.extract import is_question, links, names, paths, prose, sentences

SECTIONS = (
    "Requests",
    "Decisions",
    "Open questions",
    "Files",
    "Links",
    "Names",
    "Facts and figures",
    "Tools",
    "Notes",
)
"""The headings of a digest, and of the summary that a model is asked for: each can be folded into the other."""

_INLINE = frozenset({"Files", "Names"})
_LONGEST_ENTRY = 400
_LEAST_A_SECTION = 50
_LEFT_OUT = "⋯"
_DECISION = re.compile(
    r"\b(?:decid\w*|decision|agreed?|chose|chosen|choose|settled?|conclu\w+|going with|go with|we(?:['’]| wi)ll"
    r"|let['’]?s|instead of|rather than|prefer\w*|must(?:n['’]t)?|never|always|should(?:n['’]t)?|do(?: not|n['’]t)"
    r"|approved?|reject\w*|entschieden|entscheid\w+|beschlossen|décid\w+)\b|решил|решен|决定|決定|采用|採用|결정",
    re.IGNORECASE,
)
_TROUBLE = re.compile(r"\b(?:\w*error|\w*exception|fail(?:ed|ure|ures)?|fatal|panic|denied|not found)\b", re.IGNORECASE)
_LAST_MARKS = " .!?。！？…\"'"
_SPEAKERS = {"user": "User", "assistant": "Assistant"}
_SPEAKER_LENGTH = len("Assistant: ")
_SAID_BY = re.compile(r"(?:User|Assistant): ")
_HEADING = re.compile(r"#{1,6} +(.*)")
_GAP = re.compile(rf"{_LEFT_OUT} [0-9,]+ more left out")
_CODE = re.compile(rf"(?<!`)(`+)(?!`)(.{{1,{_LONGEST_ENTRY + 2}}}?)(?<!`)\1(?!`)")


class _Section(Struct):
    """Entries in order, each once; ``weights`` counts how often each was found."""

    title: str
    entries: dict[str, str] = field(default_factory=dict)
    weights: dict[str, int] = field(default_factory=dict)

    def add(self, entry: str) -> None:
        key = entry if self.title in _INLINE else _key(entry)
        if key:
            self.entries.setdefault(key, entry)
            self.weights[key] = self.weights.get(key, 0) + 1

    def by_priority(self) -> list[str]:
        """Return the keys by priority: the first request, then the newest entries, or those found most often."""
        keys = list(self.entries)
        if self.title == "Requests":
            return [*keys[:1], *reversed(keys[1:])]
        newest = list(reversed(keys))
        return sorted(newest, key=lambda key: -self.weights[key]) if self.title in _INLINE else newest

    def render(self, keys: set[str]) -> str:
        chosen = [entry for key, entry in self.entries.items() if key in keys]
        if not chosen:
            return ""
        missing = len(self.entries) - len(chosen)
        shown = [", ".join(map(_code, chosen))] if self.title in _INLINE else chosen
        gap = [f"- {_LEFT_OUT} {missing:,} more left out"] if missing else []
        return "\n".join([f"## {self.title}", *gap, *(f"- {entry}" for entry in shown)]) + "\n"


def digest(items: Sequence[Item], budget: int, counter: TokenCounter) -> str:
    """Return the digest of ``items`` within ``budget`` tokens; empty if there is nothing to list or no room for it."""
    sections = _collect(items, _entry_length(budget))
    chosen = _choose(sections, budget, counter)
    text = _render(sections, chosen)
    while text and counter.count(text) > budget:
        _drop_one(sections, chosen)
        text = _render(sections, chosen)
    return text


def _entry_length(budget: int) -> int:
    """Return how many characters an entry may have: with little room, several short ones are better than a long one."""
    return max(60, min(_LONGEST_ENTRY, budget // 2))


def _collect(items: Sequence[Item], longest: int) -> list[_Section]:
    found = {title: _Section(title) for title in SECTIONS}
    results = {item.tool_call_id: item.content for item in items if item.role == "tool"}
    for item in items:
        if item.kind == "summary":
            _fold(found, body_of(item), longest)
        elif item.role in _SPEAKERS:
            _read_message(found, item, longest)
            for call in item.tool_calls:
                outcome = _outcome(results.get(call.id, ""))
                found["Tools"].add(_clip(f"{call.name} {call.arguments}{outcome}", longest))
                _add_all(found["Files"], paths(call.arguments))
    _once(found)
    return list(found.values())


def _read_message(found: dict[str, _Section], item: Item, longest: int) -> None:
    words = item.words
    text = prose(words)
    if item.role == "user":
        found["Requests"].add(_clip(words, longest))
    for one in item.attachments:
        _add_all(found["Files"], [one.path] if one.path else paths(one.label))
    _add_all(found["Files"], paths(words))
    _add_all(found["Names"], names(text))
    for link in links(words):
        found["Links"].add(_clip(link, longest))
    for sentence in sentences(text):
        title = _title(sentence)
        if title:
            clip = _around_figure if title == "Facts and figures" else _clip
            found[title].add(f"{_SPEAKERS[item.role]}: {clip(sentence, longest)}")


def _title(sentence: str) -> str:
    if is_question(sentence):
        return "Open questions"
    if _DECISION.search(sentence):
        return "Decisions"
    return "Facts and figures" if any(char.isdigit() for char in sentence) else ""


def _outcome(result: str) -> str:
    """Return one line of a tool's result: all of it if it is one line, else the last that reports a problem."""
    lines = [line.strip() for line in result.splitlines() if line.strip()]
    found = lines if len(lines) == 1 else [line for line in lines if _TROUBLE.search(line)]
    return f" → {_clip(found[-1], 160)}" if found else ""


def _add_all(section: _Section, entries: Iterable[str]) -> None:
    for entry in entries:
        section.add(_clip(entry, _LONGEST_ENTRY))


def _code(entry: str) -> str:
    """Return ``entry`` as code: between more backticks than it has in a row."""
    if "`" not in entry:
        return f"`{entry}`"
    fence = "`" * (1 + max(map(len, re.findall("`+", entry))))
    return f"{fence} {entry} {fence}"


def _fold(found: dict[str, _Section], summary: str, longest: int) -> None:
    """Add the entries of an earlier summary; text outside the known sections becomes a note."""
    title = "Notes"
    for line in summary.split("\n"):
        if heading := _HEADING.match(line):
            title = heading[1].strip() if heading[1].strip() in found else "Notes"
            continue
        entry = line.strip().removeprefix("- ").strip()
        if not entry or _GAP.fullmatch(entry):
            continue
        if title in _INLINE:
            _add_all(found[title], (code.strip(" ") for _, code in _CODE.findall(entry)))
        else:
            found[title].add(_clip(entry, longest + _SPEAKER_LENGTH))


def _once(found: dict[str, _Section]) -> None:
    """Remove a sentence from the other sections if a request already has it."""
    asked = " ".join(found["Requests"].entries)
    for title in ("Decisions", "Open questions", "Facts and figures"):
        section = found[title]
        for key in [key for key in section.entries if key in asked]:
            del section.entries[key]


def _clip(text: str, longest: int) -> str:
    """Return ``text`` on one line without hidden characters, with its middle left out if longer than ``longest``."""
    line = one_line(" ".join(text.split()))
    if len(line) <= longest:
        return line
    tail = longest // 3
    head = _cut_before(line, longest - tail - 3)
    return f"{line[:head].rstrip()} {_LEFT_OUT} {line[_cut_after(line, len(line) - tail) :].lstrip()}"


def _around_figure(sentence: str, longest: int) -> str:
    """Return ``sentence`` like ``_clip``, but so that its first figure stays visible."""
    line = one_line(" ".join(sentence.split()))
    figure = next(place for place, char in enumerate(line) if char.isdigit())
    if len(line) <= longest or figure < longest // 2:
        return _clip(sentence, longest)
    start = min(_cut_after(line, figure - longest // 2), figure)
    rest = line[start:]
    if len(rest) > longest:
        rest = f"{rest[: _cut_before(rest, longest)].rstrip()} {_LEFT_OUT}"
    return f"{_LEFT_OUT} {rest}"


def _cut_before(line: str, place: int) -> int:
    """Return where to cut ``line``, at ``place`` or before: at a blank, else where no word or number is cut in two."""
    blank = line.rfind(" ", 0, place + 1)
    if blank * 2 >= place:
        return blank
    least = place // 2
    return next((at for at in range(place, least, -1) if not _is_inside(line, at)), place)


def _cut_after(line: str, place: int) -> int:
    """Return where to cut ``line``, at ``place`` or after: at a blank, else where no word or number is cut in two."""
    most = (place + len(line)) // 2
    blank = line.find(" ", place, most)
    if blank >= 0:
        return blank + 1
    return next((at for at in range(place, most) if not _is_inside(line, at)), place)


def _is_inside(line: str, place: int) -> bool:
    """Return whether a cut at ``place`` would leave parts of one word or number on both sides."""
    return line[place - 1 : place].isalnum() and line[place : place + 1].isalnum()


def _key(entry: str) -> str:
    """Return the identity of an entry: its words, without the speaker and the final punctuation."""
    return _SAID_BY.sub("", entry, count=1).casefold().rstrip(_LAST_MARKS) or entry


def _choose(sections: Sequence[_Section], budget: int, counter: TokenCounter) -> dict[str, set[str]]:
    """Return the chosen keys of each section: fair shares first, then what is left over, in order.

    With little room only the first sections get a share: a heading with nothing below it is useless.
    """
    choices = [_Choice(section, budget, counter) for section in sections if section.entries]
    sharing = choices[: max(1, budget // _LEAST_A_SECTION)]
    shares = water_fill([choice.wanted for choice in sharing], budget)
    for choice, share in zip(sharing, shares, strict=True):
        choice.extend(share)
    for choice in choices:
        choice.extend(budget - sum(other.spent for other in choices) + choice.spent)
    return {section.title: set() for section in sections} | {choice.title: choice.keys for choice in choices}


class _Choice:
    """The entries of a section that are chosen so far, and their cost."""

    def __init__(self, section: _Section, budget: int, counter: TokenCounter) -> None:
        self.title = section.title
        self.keys: set[str] = set()
        self.spent = 0
        self._heading = self.wanted = counter.count(f"\n## {section.title}\n- {_LEFT_OUT} 1,000 more left out\n")
        self._prices: dict[str, int] = {}
        for key in section.by_priority():
            if self.wanted > 2 * budget:  # the rest cannot fit, and counting is most of the work
                break
            self._prices[key] = counter.count(f"- {section.entries[key]}\n")
            self.wanted += self._prices[key]

    def extend(self, room: int) -> None:
        """Choose as many more entries as fit into ``room``, including what is spent already."""
        for key, bare in self._prices.items():
            price = bare + (0 if self.keys else self._heading)
            if key not in self.keys and self.spent + price <= room:
                self.keys.add(key)
                self.spent += price


def _drop_one(sections: Sequence[_Section], chosen: dict[str, set[str]]) -> None:
    """Remove the entry of the lowest priority from the last section that has one."""
    for section in reversed(sections):
        keys = [key for key in section.by_priority() if key in chosen[section.title]]
        if keys:
            chosen[section.title].discard(keys[-1])
            return


def _render(sections: Sequence[_Section], chosen: dict[str, set[str]]) -> str:
    return "\n".join(text for section in sections if (text := section.render(chosen[section.title])))
