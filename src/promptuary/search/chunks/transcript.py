"""Transcripts: chats of people with assistants or with one another, recognised by the content of a file.

A turn begins with a line that names its speaker: ``user: …``, ``Anna: …``, ``**User:** …``, ``## User``,
``[10:32] anna: …``, ``<anna> …``, ``Anna  10:32 AM``. Recognition is cautious, since notes have lines like ``Note: …``
as well: the names must be roles, or belong to a few speakers who take turns and talk to one another; or the front
matter lists them (``speakers: [Anna, Ben]``). ``turn_parts`` defines the chunks of a transcript; their size is decided
elsewhere.
"""

import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final, NamedTuple

from msgspec import Struct

from promptuary.base.front_matter import speakers
from promptuary.search.chunks.lines import Lines, Part
from promptuary.search.chunks.markdown import Heading, front_matter_end, markdown_headings
from promptuary.search.dates.written import first_date, lone_date, order_of, stamp_date

_NAME = r"(?P<name>[^\W\d_][\w.'’&+-]{0,31}(?: [\w.'’&()+-]{1,24}){0,3})"
_CLOCK = r"[0-9]{1,2}:[0-9]{2}(?::[0-9]{2})?(?:[ \u202f]?[AaPp]\.?[Mm]\.?)?"
_DATE = r"(?:[0-9]{1,4}[./-][0-9]{1,2}[./-][0-9]{1,4}|Today|Yesterday)"
_STAMP = rf"(?:{_DATE}(?:,| at|T)? ?)?{_CLOCK}(?:Z|[+-][0-9]{{2}}:?[0-9]{{2}})?"
_BOLD = r"(?:\*\*|__)"
_FORMS: Final = {
    "inline": re.compile(
        rf"(?:(?:\[(?P<in>{_STAMP})\]|(?P<at>{_STAMP})(?: -|,)?) )?{_BOLD}?{_NAME}"
        rf"(?: [\[(](?P<by>{_STAMP})[\])])?(?::{_BOLD}|{_BOLD}?:)(?:[ \t]+|\r?\Z)"
    ),
    "nick": re.compile(rf"(?:\[?(?P<at>{_STAMP})\]? )?<[@+~&%]?(?P<name>[^\s<>]{{1,32}})>[ \t]"),
    "above": re.compile(rf"{_NAME},?(?: ?[—–-] ?| {{1,4}})[\[(]?(?P<at>{_STAMP})[\])]?[ \t\r]*\Z"),
    "heading": re.compile(rf"#{{1,6}} [^\w\n]{{0,4}}{_NAME}(?: \([^()\n]{{1,40}}\))?:?[ \t#\r]*\Z"),
    "bold": re.compile(rf"{_BOLD}{_NAME}:?{_BOLD}[ \t\r]*\Z"),
}
"""How a turn may begin. In one transcript all turns begin in the same way."""
_FOR_NAMES: Final = frozenset({"inline", "nick", "above"})
"""Forms in which anybody may speak; a heading or a bold line names a speaker only if that is a role."""

_PEOPLE_WORDS = "user human me you i ich du benutzer nutzer utilisateur usuario usuário"
_MACHINE_WORDS = """assistant ai bot chatbot chatgpt gpt claude gemini bard copilot llm mistral grok llama deepseek qwen
    perplexity assistent asistente assistente"""
_PEOPLE: Final = frozenset(_PEOPLE_WORDS.split())
_MACHINES: Final = frozenset(_MACHINE_WORDS.split())
_ALSO_MACHINES: Final = frozenset({"system", "tool", "developer", "function", "model", "tool_result", "tool_call"})
_SAID = re.compile(r" (?:said|wrote|sagte|asked|replied)\Z")
_VERSION = re.compile(r"(?:[ -]v?)?[0-9][\w. -]*\Z")

_LABEL_WORDS = """
    note notes nb warning warn info error debug trace fatal critical notice caution danger important tip hint example
    examples todo done fixme question answer q a input output result results expected actual given when then and but
    step goal goals idea ideas pro pros con cons before after front back date time place location where who what why how
    name title subject author authors from to cc bcc sent email phone address url link links source sources tags tag
    status type kind version price cost total id key value default description summary abstract definition term synopsis
    usage options arguments args parameters params returns return raises yields see file path host port password
    username language level priority owner due start end duration day week month year monday tuesday wednesday thursday
    friday saturday sunday ingredients method risk risks action actions decision decisions agenda attendees present
    topic topics reference references figure table chapter section part option problem solution cause effect fix bug
    feature added changed removed fixed deprecated security co-authored-by signed-off-by reviewed-by hinweis achtung
    serves beispiel frage antwort datum ort remarque exemple réponse nota ejemplo pregunta respuesta pergunta resposta
"""
_LABELS: Final = frozenset(_LABEL_WORDS.split())
"""Words before a colon that do not name a speaker."""

_TALK: Final = re.compile(
    r"[?!？！]|\b(?:i|i'm|i've|i'll|i'd|me|my|you|you're|your|we|us|our|ich|mir|mich|du|dir|dich|wir|uns|je|j'ai|moi|tu|toi"
    r"|vous|nous|yo|mí|tú|te|nosotros|eu|você|vocês|nós|meu|minha|thanks|hi|hello|hey|ok|okay|yes|yeah|no|nope|lol|sure"
    r"|ja|nein|danke|hallo|oui|non|merci|salut|sí|gracias|hola|sim|não|obrigado|obrigada|oi)\b",
    re.IGNORECASE,
)
_PREAMBLE: Final = 12
"""The most lines of prose before the first turn."""
_BEFORE: Final = 60
"""The most lines, including headings, before the first turn."""
_HEADING: Final = re.compile(r" {0,3}#{1,6}[ \t]+\S")


class _Opening(NamedTuple):
    """A line that may begin a turn: its speaker in lower case, where its text begins, and its stamp."""

    line: int
    speaker: str
    text: int
    stamp: str


class SpokenTurn(Struct, frozen=True):
    """What one speaker says: lines ``first`` to ``end`` (excluded), counted from zero.

    The text begins at the column ``text`` of the first line. ``date`` is when it was said, if that is known.
    ``above`` is the first of the lines before it that belong to it: headings and a date.
    """

    first: int
    end: int
    text: int
    person: bool
    date: int | None
    above: int


class Transcript(Struct, frozen=True):
    """The turns of a chat in order. ``between_people``: no speaker is a machine.

    ``headings`` are those of the whole text, ``body`` the first line after its front matter.
    """

    turns: Sequence[SpokenTurn]
    between_people: bool
    headings: Sequence[Heading] = ()
    body: int = 0

    def own_words(self, lines: Lines, first: int, end: int) -> str:
        """Return what people say in these lines; in a chat between people, with the names of the speakers."""
        words: list[str] = []
        for turn in self._turns(first, end):
            start, stop = max(first, turn.first), min(end, turn.end)
            if turn.person and start < stop:
                text = lines.span(start, stop)
                words.append((text if self.between_people or start > turn.first else text[turn.text :]).strip("\n"))
        return "\n".join(words)

    def date(self, first: int, end: int) -> int | None:
        """Return the date of the first of these lines that has one."""
        return next((turn.date for turn in self._turns(first, end) if turn.date is not None), None)

    def _turns(self, first: int, end: int) -> Iterator[SpokenTurn]:
        at = max(0, bisect_right(self.turns, first, key=lambda turn: turn.first) - 1)
        while at < len(self.turns) and self.turns[at].first < end:
            if self.turns[at].end > first:
                yield self.turns[at]
            at += 1


def transcript(lines: Lines) -> Transcript | None:
    """Return the turns of a transcript; ``None`` if the text is not one.

    Fenced code and tables are marked as glued, and do not begin a turn.
    """
    body = front_matter_end(lines)
    # Most files are not transcripts, and a few lines show that.
    if not any(True for _ in _first_forms(lines, body)):
        return None
    headings = tuple(markdown_headings(lines, body, unclosed=False))
    named = speakers(lines.text)
    for form in dict.fromkeys(_first_forms(lines, body)):
        openings = list(_openings(lines, body, form))
        known = frozenset(one.speaker for one in openings) & named
        known = known or _roles(openings, lines, body, form) or _talkers(openings, lines, body, form)
        if known:
            said = [one for one in openings if one.speaker in known]
            return Transcript(*_turns(lines, body, said), headings, body)
    lines.glued = bytearray(len(lines) + 1)
    return None


def _first_forms(lines: Lines, body: int) -> Iterator[str]:
    """Yield the forms of turns on the lines on which the first turn may begin."""
    prose = seen = 0
    for line in range(body, len(lines)):
        if lines.blank[line] or lines.glued[line]:
            continue
        for form in _FORMS:
            opening = _opening(lines, line, form)
            if opening is not None and (_is_role(opening.speaker) or (form in _FOR_NAMES and not _is_label(opening))):
                yield form
        prose += not _HEADING.match(lines.lines[line])
        seen += 1
        if prose > _PREAMBLE or seen > _BEFORE:
            return


def _opening(lines: Lines, line: int, form: str) -> _Opening | None:
    match = _FORMS[form].match(lines.lines[line][:160])
    if match is None:
        return None
    groups = match.groupdict()
    stamp = groups.get("in") or groups.get("at") or groups.get("by") or ""
    return _Opening(line, _SAID.sub("", match["name"].lower()), match.end(), stamp)


def _openings(lines: Lines, body: int, form: str) -> Iterator[_Opening]:
    for line in range(body, len(lines)):
        if not lines.blank[line] and not lines.glued[line] and (one := _opening(lines, line, form)):
            yield one


def _is_role(speaker: str) -> bool:
    return speaker in _PEOPLE or speaker in _ALSO_MACHINES or _is_machine(speaker)


def _is_label(opening: _Opening) -> bool:
    return opening.speaker in _LABELS


def _is_machine(speaker: str) -> bool:
    plain = _VERSION.sub("", speaker)
    return plain in _MACHINES or plain.endswith(" assistant")


def _roles(openings: Sequence[_Opening], lines: Lines, body: int, form: str) -> frozenset[str]:
    """Return the speakers of a chat between a person and an assistant; empty if it is not such a chat."""
    turns = [one for one in openings if _is_role(one.speaker)]
    people = sum(one.speaker in _PEOPLE for one in turns)
    machines = sum(_is_machine(one.speaker) for one in turns)
    if not machines and form == "inline":
        # "model:" and "system:" are also words of settings: only what reads like a chat counts.
        machines = sum(one.speaker == "model" for one in turns) if _talk(turns, lines) >= 0.5 else 0
    if not people or not machines:
        return frozenset()
    # A short chat must begin at once, and ask or address somebody; otherwise it is an example or a definition.
    asked = [one for one in turns if one.speaker in _PEOPLE]
    if len(turns) < 4 and form == "inline" and not _is_lower(lines, turns) and not _talk(asked, lines):
        return frozenset()
    if _prose_before(lines, body, turns[0].line) > (_PREAMBLE if len(turns) >= 4 else 0):
        return frozenset()
    changes = sum(one.speaker != other.speaker for one, other in pairwise(turns))
    return frozenset(one.speaker for one in turns) if changes * 3 >= len(turns) else frozenset()


def _talkers(openings: Sequence[_Opening], lines: Lines, body: int, form: str) -> frozenset[str]:
    """Return the speakers of a chat between people, or of a named person with an assistant; empty if it is neither."""
    if form not in _FOR_NAMES:
        return frozenset()
    stamped = form != "inline" or sum(bool(one.stamp) for one in openings) * 2 > len(openings)
    if stamped:
        openings = [one for one in openings if one.stamp or form == "nick"]
    counts = Counter(one.speaker for one in openings if not _is_label(one))
    speakers = frozenset(name for name, count in counts.items() if count > 1 or stamped)
    turns = [one for one in openings if one.speaker in speakers]
    if not 2 <= len(speakers) <= max(2, len(turns) // (2 if stamped else 3)) or len(turns) < (4 if stamped else 6):
        return frozenset()
    if _prose_before(lines, body, turns[0].line) > _PREAMBLE or _is_cycle([one.speaker for one in turns]):
        return frozenset()
    changes = sum(one.speaker != other.speaker for one, other in pairwise(turns))
    written = sum(not blank for blank in lines.blank[turns[0].line : len(lines)])
    dense = len(turns) >= written * (0.2 if stamped else 0.4)
    takes_turns = changes * 3 >= len(turns) or (stamped and changes > 0)
    talks = _talk(turns, lines) >= (0.1 if stamped else 0.3)
    return speakers if dense and takes_turns and talks else frozenset()


def _is_lower(lines: Lines, turns: Sequence[_Opening]) -> bool:
    """Return whether all names are in lower case, as programs write roles."""
    return all(lines.lines[one.line].startswith(one.speaker) for one in turns)


def _prose_before(lines: Lines, body: int, first: int) -> int:
    """Return how many lines before the first turn are prose: neither headings nor dates."""
    before = (lines.lines[line] for line in range(body, first) if not lines.blank[line])
    return sum(not _HEADING.match(line) and lone_date(line) is None for line in before)


def _talk(turns: Sequence[_Opening], lines: Lines) -> float:
    """Return the share of turns that address somebody: they ask, greet, or say I and you."""
    begins = [
        lines.lines[one.line][one.text :][:400] or "".join(lines.lines[one.line + 1 : one.line + 2]) for one in turns
    ]
    return sum(bool(_TALK.search(one)) for one in begins) / max(1, len(begins))


def _is_cycle(speakers: Sequence[str]) -> bool:
    """Return whether three or more names follow one another in a fixed order, as the fields of records do."""
    length = len(set(speakers))
    return length > 2 and all(one == speakers[index % length] for index, one in enumerate(speakers))


def _turns(lines: Lines, body: int, openings: Sequence[_Opening]) -> tuple[list[SpokenTurn], bool]:
    """Return the turns, and whether all speakers are people."""
    speakers = {one.speaker for one in openings}
    machines = {one for one in speakers if one in _ALSO_MACHINES or _is_machine(one)}
    if not any(map(_is_machine, machines)) and not speakers & _PEOPLE:
        machines = set()
    order = order_of([one.stamp for one in openings])
    aboves, days = [], []
    day: int | None = None
    for one, before in zip(openings, [None, *openings], strict=False):
        above, found = _above(lines, before.line + 1 if before else body, one.line)
        day = found if found is not None else day
        aboves.append(above)
        days.append(day)
    ends = [*aboves[1:], len(lines)]
    turns = []
    for one, above, end, of_day in zip(openings, aboves, ends, days, strict=True):
        date = stamp_date(one.stamp, order, of_day) if one.stamp else of_day
        turns.append(SpokenTurn(one.line, end, one.text, one.speaker not in machines, date, above))
    return turns, not machines


def _above(lines: Lines, least: int, line: int) -> tuple[int, int | None]:
    """Return the first of the headings and dates right above a turn, and the last date among them."""
    above, date = line, None
    for index in range(line - 1, least - 1, -1):
        if lines.blank[index]:
            continue
        text = lines.lines[index]
        found = lone_date(text)
        if _HEADING.match(text):
            found = found if found is not None else first_date(text)
        elif found is None:
            break
        above, date = index, date if date is not None else found
    return above, date


def turn_parts(lines: Lines, found: Transcript, room: int) -> Part:
    """Return the parts of a transcript: sections, and in them turns, or what a person says with the reply to it.

    A heading inside a turn is part of what is said. Lines before which no chunk should end are marked as glued, up to
    ``room`` characters.
    """
    whole = Part(0, len(lines))
    open_parts = [(0, whole)]
    starts = list(_exchanges(found))
    for number, turn in enumerate(starts):
        run = _headings(found, turn.above if number else 0, turn.first)
        start = turn.above if number or lines.trimmed(found.body, turn.above)[0] < turn.above else 0
        end = starts[number + 1].above if number + 1 < len(starts) else len(lines)
        for heading in run:
            first = min(heading.line, start) if heading.line >= turn.above else heading.line
            while open_parts[-1][0] >= heading.level:
                open_parts.pop()[1].end = first
            around = open_parts[-1][1]
            part = Part(first, len(lines), heading.title, [], bool(around.parts))
            around.parts.append(part)
            open_parts.append((heading.level, part))
        other_day = number > 0 and turn.date != starts[number - 1].date and turn.above < turn.first
        open_parts[-1][1].parts.append(Part(start, end, alone=other_day and not run))
    _glue_replies(lines, found, room)
    return whole


def _headings(found: Transcript, first: int, end: int) -> Sequence[Heading]:
    at, stop = (bisect_left(found.headings, line, key=lambda one: one.line) for line in (first, end))
    return found.headings[at:stop]


def _exchanges(found: Transcript) -> Iterator[SpokenTurn]:
    """Yield the turns that begin a part: all between people, else the first of a person after a reply."""
    before: SpokenTurn | None = None
    for turn in found.turns:
        if found.between_people or before is None or turn.above < turn.first or (turn.person and not before.person):
            yield turn
        before = turn


def _glue_replies(lines: Lines, found: Transcript, room: int) -> None:
    """Keep a speaker's name, and what is above it, with what is said, and that with the beginning of the reply.

    Unless it is longer than ``room``: glued lines that do not fit would be split anywhere.
    """
    ends = [turn.first + 1 for turn in found.turns]
    for number, turn in enumerate(found.turns):
        following = turn.first + 1
        while following < turn.end and lines.blank[following]:
            following += 1
        if following < turn.end and not lines.lines[turn.first][turn.text :].strip():
            ends[number] = following + 1
        first = turn.above if number or lines.trimmed(found.body, turn.above)[0] < turn.above else 0
        if lines.size(first, ends[number]) <= room:
            lines.glue(first, ends[number])
    for (turn, reply), end in zip(pairwise(found.turns), ends[1:], strict=True):
        last = lines.trimmed(turn.first, turn.end)[1] - 1
        if turn.person and not reply.person and lines.size(turn.above, end) <= room:
            lines.glue(last, end)
