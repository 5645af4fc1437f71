"""How much of a prompt is, byte for byte, what the prompt before began with: the part a provider reads from its cache.

One conversation of fifty turns with fixed words: an AGENTS.md, ten tracked files of real source, three of which are
edited before twelve of the turns, a live layer that says something else each time, and replies of one to three
paragraphs. Each prompt is taken as plain text and compared with the one before it: the share is the length of what they
begin with in common, in bytes and in tokens, beside the length of the newer one.

The same conversation is had a second time with the files written anew at each edit, as they were before changes
followed the history.

The same turns are then laid out in two other orders, out of the very same messages, so that nothing but the order
differs. In both, every layer stands before the history, by slot: that is how the design we compare with builds its
view. The live layer has the last of the slots, which is the kindest place to that order. In one of them the files stand
in the order that they have with us; in the other they are scored anew by the words of each message. The tokens that the
common beginning does not cover are those that a provider bills in full.
"""

import random
import statistics
import sysconfig
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from unittest.mock import patch

from bench.report import Row, report
from promptuary import Counter
from promptuary.base.messages import Message, Prompt
from promptuary.blocking import Promptuary
from promptuary.layers.layer import Layer, LayerContext, RecallRequest, Slot
from promptuary.layers.tracked.scoring import RelevanceQuestion, judge
from promptuary.models.render import plain_text
from promptuary.threads.prepared import Turn
from promptuary.threads.turn import Thread

TURNS = 50
FILES = 10
EDITED = 3
EDITS = 12
GOAL = 0.9
"""The share that is to be the same where nothing stable changed."""
UNCOVERED = 60_000
"""How many tokens of all turns may not be covered by what was sent before."""

_HEADING = "# Referenced Files"
_TALK = (
    "The parser reads one field after the other and keeps the position of each, so an error can say where it was.",
    "I would rather return an empty tuple here: callers loop over the result, and none of them asks for its length.",
    "There is a second place that does the same, with other defaults; they should share one function.",
    "The lock is taken in the outer call only. Inside, everything works on a copy, so nothing can deadlock.",
    "A test for the empty input is missing, and one for a name that has a blank at its end.",
    "It is quadratic: each round looks at the whole list again. A dictionary by name makes it linear.",
    "What is raised here is caught two levels above and logged, so the person never sees which file it was.",
    "Before we change that, let us pin what it does now with a test; the documentation says something else.",
)


class Status(Layer):
    """A live layer: what the editor shows at the moment, different at each turn."""

    id, slot, band = "status", Slot.SEMANTIC_RECALL, "live"

    def __init__(self) -> None:
        self._turn = 0

    async def recall(self, _: RecallRequest, context: LayerContext) -> str:
        self._turn += 1
        return f"{context.thread}: line {self._turn * 37 % 211}, {self._turn % 4} unsaved changes, turn {self._turn}."


@dataclass(frozen=True, slots=True)
class Sent:
    """One turn as it was sent, and the file that was edited before it, if one was."""

    turn: Turn
    edited: str = ""


@dataclass(frozen=True, slots=True)
class Same:
    """What a prompt has in common with the one before."""

    bytes: float
    tokens: float
    billed: int
    total: int
    stable: bool


def main() -> None:
    names, sent = _conversation()
    ours = _compared([plain_text(one.turn.prompt) for one in sent], sent)
    with patch.object(Thread, "_earlier", _nothing_earlier):
        names, sent = _conversation()
    anew = _compared([plain_text(one.turn.prompt) for one in sent], sent)
    fixed = _compared([_layers_first(one.turn, names, rescored=False) for one in sent], sent)
    scored = _compared([_layers_first(one.turn, names, rescored=True) for one in sent], sent)
    rows = [*_rows("ours", ours), *_rows("files anew at each edit", anew)]
    rows += [*_rows("layers first", fixed), *_rows("layers first, scored each turn", scored)]
    report(
        f"The part of a prompt that is the last one's beginning (goal: {GOAL:.0%} where nothing stable changed)", rows
    )
    orders = (
        ("layers first, scored each turn", scored),
        ("layers first", fixed),
        ("files anew at each edit", anew),
        ("ours", ours),
    )
    bills = [row for label, turns in orders for row in _bill(label, turns, sum(one.billed for one in anew))]
    report(f"Tokens of {TURNS} turns: sent, and not covered by what was sent before (goal: {UNCOVERED:,})", bills)


def _conversation() -> tuple[list[str], list[Sent]]:
    with tempfile.TemporaryDirectory() as folder:
        names = _fill(Path(folder))
        return names, list(_talked(Path(folder), names))


async def _nothing_earlier(_: Thread, __: str) -> str:
    """Stand in for a ledger that has nothing to be repeated: so every edit writes the files anew."""
    return ""


def _bill(label: str, turns: Sequence[Same], peer: int) -> list[Row]:
    billed = sum(one.billed for one in turns)
    return [
        Row(f"{label}: sent", sum(one.total for one in turns), "tok"),
        Row(f"{label}: not covered", billed, "tok", billed / peer),
    ]


def _rows(label: str, turns: Sequence[Same]) -> Iterator[Row]:
    groups = (
        ("nothing stable changed", [one for one in turns if one.stable]),
        ("a tracked file changed", [one for one in turns if not one.stable]),
        ("all", list(turns)),
    )
    for name, group in groups:
        middle = statistics.median(one.bytes for one in group)
        goal = middle / GOAL if name.startswith("nothing") else None
        yield Row(f"{label}, {name} ({len(group)}): bytes, median", middle * 100, "%", goal)
        yield Row(f"{label}, {name} ({len(group)}): bytes, least", min(one.bytes for one in group) * 100, "%")
        yield Row(f"{label}, {name} ({len(group)}): tokens, median", _median_tokens(group) * 100, "%")


def _median_tokens(group: Sequence[Same]) -> float:
    return statistics.median(one.tokens for one in group)


def _fill(folder: Path) -> list[str]:
    library = Path(sysconfig.get_paths()["stdlib"])
    sources = [path for path in sorted(library.glob("*/*.py")) if 1024 <= path.stat().st_size <= 6 * 1024]
    (folder / "AGENTS.md").write_text("# How we work\n\n- Tests first.\n- Small functions.\n- Say why, not what.\n" * 4)
    names: list[str] = []
    for path in sources[:: len(sources) // FILES][:FILES]:
        names.append(f"{len(names)}_{path.name}")
        (folder / names[-1]).write_bytes(path.read_bytes())
    return names


def _talked(folder: Path, names: Sequence[str]) -> Iterator[Sent]:
    """Have the conversation."""
    chance = random.Random(7)
    edits = set(chance.sample(range(1, TURNS), EDITS))
    to_edit = chance.sample(list(names), EDITED)
    with Promptuary.open(folder, exact=True, layers=[Status()], window=200_000) as promptuary:
        for number in range(TURNS):
            edited = chance.choice(to_edit) if number in edits else ""
            if edited:
                _edit(folder / edited, number)
            about = chance.choice(list(names))
            asked = f"{chance.choice(_TALK)} What of {_word(folder / about, chance)} in {about}?"
            text = "Let us look at " + " ".join(f"#{name}" for name in names) if number == 0 else asked
            turn = promptuary.threads.prepare(text)
            promptuary.threads.finish(
                turn, "\n\n".join(" ".join(chance.sample(_TALK, 3)) for _ in range(chance.randint(1, 3)))
            )
            yield Sent(turn, edited)


def _edit(file: Path, number: int) -> None:
    lines = file.read_text(encoding="utf-8").splitlines(keepends=True)
    lines.insert(len(lines) // 2, f"# Looked at in turn {number}: the error must name the file.\n")
    file.write_text("".join(lines), encoding="utf-8")


def _word(file: Path, chance: random.Random) -> str:
    words = [word for word in file.read_text(encoding="utf-8").split() if word.isidentifier() and len(word) > 4]
    return chance.choice(words)


def _layers_first(turn: Turn, names: Sequence[str], *, rescored: bool) -> str:
    """Return the messages of a turn with every layer before the history."""
    stable = list(turn.prompt.stable)
    if rescored:
        stable = [_reordered(one, names, turn.text) if one["content"].startswith(_HEADING) else one for one in stable]
    return plain_text(Prompt([*stable, *turn.prompt.live], turn.prompt.history, [], turn.prompt.message))


def _reordered(message: Message, names: Sequence[str], query: str) -> Message:
    """Return the tracked files by what the words of this message make of each."""
    content = message["content"]
    places = sorted((content.index(f"\n## {name} ") + 1, name) for name in names)
    ends = [place for place, _ in places[1:]] + [len(content) + 2]
    blocks = [(name, content[place : end - 2]) for (place, name), end in zip(places, ends, strict=True)]
    blocks.sort(key=lambda block: -judge(RelevanceQuestion(query, *block)).value)
    return {"role": "developer", "content": "\n\n".join([_HEADING, *(text for _, text in blocks)])}


def _compared(prompts: Sequence[str], sent: Sequence[Sent]) -> list[Same]:
    counter, found = Counter(), []
    for before, now, one in zip(prompts, prompts[1:], sent[1:], strict=False):
        common = now[: _same(before, now)]
        total, covered = counter.count(now), counter.count(common)
        share = len(common.encode()) / len(now.encode())
        found.append(Same(share, covered / total, total - covered, total, not one.edited))
    return found


def _same(before: str, now: str) -> int:
    """Return how many characters two texts begin with in common, by bisection."""
    low, high = 0, min(len(before), len(now))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if before[:middle] == now[:middle] else (low, middle - 1)
    return low


if __name__ == "__main__":
    main()
