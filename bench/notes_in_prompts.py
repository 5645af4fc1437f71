"""What recall brings of a person's notes into a prompt, beside mem0 and langchain's BM25 and FAISS on the same vectors.

    python -m bench.notes_in_prompts --data DIR [--peers PYTHON] [--nothing FILE ...] [--elsewhere FILE ...] [--half N]

``memory_set.py`` in DIR has notes, questions that one of them answers, small talk, and notes that contradict each
other. The notes are written in their order, one a day, so that the digest lists the last ones. Each message is asked in
a thread of its own with our defaults: with vectors, and by words alone. Contradictions are written within a second.

*Found* is the share of questions whose note stands in the prompt, *recalled* the same without what the digest lists,
*precision* the share of the recalled notes that answer. *Both* asks two questions in a message. *Silent* is the share
of messages that ask for nothing and recall nothing, and *false* that of questions about what no note says that recall
a note. ``--half`` takes every other question, so that constants can be tried on the others.

``--peers`` is a Python that has ``mem0ai``, ``langchain``, ``langchain-community``, ``rank_bm25`` and ``faiss-cpu``.
They get our vectors, and each is measured with as many notes as it returns by default, and with the first two of them.
"""

import argparse
import importlib.util
import json
import os
import subprocess
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

from bench.retrieval.nothing import listed
from promptuary import Counter
from promptuary.blocking import Promptuary
from promptuary.memory.digest_layer import MemoryDigest
from promptuary.memory.layer import MemoryRecall
from promptuary.memory.values import NoteDraft
from promptuary.models.minilm import MiniLM
from promptuary.threads.prepared import Turn

FEWER: Final = 2
"""How many of the first notes of a peer are measured besides all that it returns."""


@dataclass(slots=True)
class Asked:
    """What a message brought in, by the numbers of the notes: recalled, and anywhere in the prompt."""

    recalled: Sequence[int]
    found: Sequence[int]
    tokens: int = 0
    digest: int = 0


@dataclass(slots=True)
class Messages:
    """The notes; what is asked, with the notes that answer; and pairs of an older and a newer note with a question."""

    notes: Sequence[str]
    single: Sequence[tuple[str, tuple[int, ...]]]
    double: Sequence[tuple[str, tuple[int, ...]]]
    nothing: Sequence[str]
    elsewhere: Sequence[str]
    contradictions: Sequence[tuple[str, str, str]]

    @classmethod
    def load(cls, data: Path, half: int | None, nothing: Sequence[Path], elsewhere: Sequence[Path]) -> "Messages":
        found = importlib.util.spec_from_file_location("memory_set", data / "memory_set.py")
        if found is None or found.loader is None:
            raise SystemExit(f"{data} has no memory_set.py; name its folder with --data")
        made: Any = importlib.util.module_from_spec(found)
        found.loader.exec_module(made)
        asked = [(text, (note,)) for text, note in made.QUESTIONS]
        asked = asked if half is None else asked[half::2]
        # Each question with the one half the list away: about something else, whatever the order.
        pairs = zip(asked, [*asked[len(asked) // 2 :], *asked[: len(asked) // 2]], strict=True)
        double = [(f"{one.rstrip('?')}, and {other}", (*note, *more)) for (one, note), (other, more) in pairs]
        small_talk = [*made.SMALL_TALK, *(line for path in nothing for line in listed(path))]
        absent = [line for path in elsewhere for line in listed(path)]
        return cls(made.notes(), asked, double, small_talk, absent, made.CONTRADICTIONS)


@dataclass(slots=True)
class Figures:
    """What was measured of one way to recall."""

    name: str
    single: list[Asked] = field(default_factory=list)
    double: list[Asked] = field(default_factory=list)
    nothing: list[Asked] = field(default_factory=list)
    elsewhere: list[Asked] = field(default_factory=list)
    newer_first: float | None = None
    dated: float | None = None

    def row(self, messages: Messages) -> dict[str, float | None]:
        """Return the figures by name; ``None`` is not measured."""
        asked = list(zip(messages.single, self.single, strict=True))
        right = sum(note in one.recalled for (_, notes), one in asked for note in notes)
        every = sum(len(one.recalled) for one in self.single)
        double = zip(messages.double, self.double, strict=True)
        return {
            "found": _mean(note in one.found for (_, notes), one in asked for note in notes),
            "recalled": _mean(note in one.recalled for (_, notes), one in asked for note in notes),
            "precision": right / every if every else None,
            "notes": every / len(asked),
            "tokens": _mean(one.tokens for one in self.single),
            "digest": _mean(one.digest for one in self.single),
            "both": _mean(note in one.found for (_, notes), one in double for note in notes),
            "of two": _mean(len(one.recalled) for one in self.double),
            "silent": _mean(not one.recalled for one in self.nothing),
            "said": _mean(one.tokens for one in self.nothing if one.recalled),
            "false": _mean(bool(one.recalled) for one in self.elsewhere),
            "newer": self.newer_first,
            "dated": self.dated,
        }


def main() -> None:
    options = _options()
    messages = Messages.load(options.data, options.half, options.nothing, options.elsewhere)
    measured = []
    for name, embedder in (("ours", "minilm"), ("ours, words", "none")):
        with tempfile.TemporaryDirectory() as folder:
            measured.append(ours(name, embedder, messages, Path(folder)))
    if options.peers:
        measured += peers(options.peers, messages)
    show(measured, messages)
    if options.json:
        rows = {one.name: one.row(messages) for one in measured}
        options.json.write_text(json.dumps(rows, indent=1), encoding="utf-8")
    if options.verbose:
        for one in measured:
            tell(one, messages)


def ours(name: str, embedder: str, messages: Messages, folder: Path) -> Figures:
    """Return the figures of our recall, with vectors or without."""
    figures = Figures(name)
    with _opened(folder, embedder) as promptuary:
        sources = _write(promptuary, messages.notes)
        figures.single = [_ask(promptuary, text, messages.notes, sources) for text, _ in messages.single]
        figures.double = [_ask(promptuary, text, messages.notes, sources) for text, _ in messages.double]
        figures.nothing = [_ask(promptuary, text, messages.notes, sources) for text in messages.nothing]
        figures.elsewhere = [_ask(promptuary, text, messages.notes, sources) for text in messages.elsewhere]
        pairs = [note for older, newer, _ in messages.contradictions for note in (older, newer)]
        sources |= _write(promptuary, pairs, first=len(messages.notes))
        asked = [_contradiction(promptuary, *one) for one in messages.contradictions]
    figures.newer_first, figures.dated = (_mean(one) for one in zip(*asked, strict=True))
    return figures


def _opened(folder: Path, embedder: str) -> Promptuary:
    os.environ["HOME"] = str(folder / "home")
    os.environ["XDG_STATE_HOME"] = str(folder / "state")
    workspace = folder / "work"
    workspace.mkdir(parents=True, exist_ok=True)
    return Promptuary.open(workspace, exact=True, embedder=embedder)


def _write(promptuary: Promptuary, notes: Sequence[str], *, first: int = 0) -> dict[str, int]:
    """Write the notes as a person would; return their addresses."""
    memory = promptuary._app.memory.of()
    if first:
        written = [promptuary.memory.remember(text) for text in notes]
    else:
        today = datetime.now(UTC)
        days = [(today - timedelta(days=len(notes) - place)).isoformat() for place in range(len(notes))]
        written = [
            memory.put(NoteDraft(content=text, kind="project", created_at=day, updated_at=day))
            for text, day in zip(notes, days, strict=True)
        ]
    sources = {note.header.address: first + place for place, note in enumerate(written)}
    memory.settle()
    memory.search.embed(lambda _: True)
    return sources


def _ask(promptuary: Promptuary, text: str, notes: Sequence[str], sources: dict[str, int]) -> Asked:
    turn = promptuary.threads.prepare(text)
    promptuary.threads.abandon(turn)
    entries = [one for one in turn.receipt.entries if one.layer == MemoryRecall.id and one.status != "out"]
    prompt = _before_message(turn)
    return Asked(
        [sources[one.source] for one in entries],
        [place for place, note in enumerate(notes) if note in prompt],
        sum(one.tokens for one in entries),
        sum(one.tokens for one in turn.receipt.entries if one.layer == MemoryDigest.id and one.status != "out"),
    )


def _contradiction(promptuary: Promptuary, older: str, newer: str, question: str) -> tuple[float, float]:
    """Return whether the newer note stands before the older one or alone, and whether what is recalled has dates."""
    turn = promptuary.threads.prepare(question)
    promptuary.threads.abandon(turn)
    prompt = _before_message(turn)
    recalled = prompt.rpartition("# Recalled from memory")[2]
    # What the digest lists is said, too.
    said = recalled if newer in recalled or older in recalled else prompt
    at, other = said.find(newer), said.find(older)
    line = next((line for line in prompt.splitlines() if newer in line and line.startswith("- ")), "")
    is_dated = "written " in recalled if newer in recalled else " 20" in line
    return float(at >= 0 and (other < 0 or at < other)), float(at >= 0 and is_dated)


def _before_message(turn: Turn) -> str:
    """Return the prompt without the message itself, which may quote a note."""
    return "\n".join(str(message["content"]) for message in turn.messages[:-1])


def peers(python: str, messages: Messages) -> list[Figures]:
    """Return the figures of the peers, which get our vectors."""
    asked = [text for text, _ in (*messages.single, *messages.double)]
    others = [*messages.nothing, *messages.elsewhere]
    texts = [*messages.notes, *asked, *others]
    vectors = MiniLM().embed(texts, "passage")
    given = {
        "notes": messages.notes,
        "asked": [*asked, *others],
        "vectors": {text: vector.hex() for text, vector in zip(texts, vectors, strict=True)},
    }
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            [python, str(Path(__file__).with_name("notes_peers.py"))],
            input=json.dumps(given),
            env={"HOME": folder, "PATH": os.environ["PATH"]},
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        )
    counter, found = Counter(), []
    for name, answers in json.loads(done.stdout.splitlines()[-1]).items():
        for most in (None, FEWER):
            every = iter([_of_peer(one[:most], messages.notes, counter) for one in answers])
            figures = Figures(name if most is None else f"{name}, first {most}")
            for kind in ("single", "double", "nothing", "elsewhere"):
                setattr(figures, kind, [next(every) for _ in getattr(messages, kind)])
            found.append(figures)
    return found


def _of_peer(recalled: Sequence[int], notes: Sequence[str], counter: Counter) -> Asked:
    return Asked(recalled, recalled, sum(counter.count(notes[one]) for one in recalled))


def show(measured: Sequence[Figures], messages: Messages) -> None:
    """Print a row for each way to recall."""
    print(
        f"\nNotes in prompts: {len(messages.notes):,} notes, {len(messages.single):,} questions, "
        f"{len(messages.nothing):,} messages that ask for nothing, {len(messages.elsewhere):,} questions about what no "
        "note says\n"
    )
    rows = [(one.name, one.row(messages)) for one in measured]
    print(f"  {'':<22}" + "".join(f"{name:>10}" for name in rows[0][1]))
    for name, row in rows:
        print(f"  {name:<22}" + "".join(f"{'':>10}" if each is None else f"{each:10.3f}" for each in row.values()))


def tell(figures: Figures, messages: Messages) -> None:
    """Print what went wrong, for whoever looks for the reason."""
    print(f"\n{figures.name}")
    asked, answered = (*messages.single, *messages.double), (*figures.single, *figures.double)
    for (text, notes), one in zip(asked, answered, strict=True):
        print(f"  {sum(note in one.found for note in notes)}/{len(notes)} {text}")
        for note in one.recalled:
            print(f"      {'+' if note in notes else '-'} {messages.notes[note]}")
    for text, one in zip((*messages.nothing, *messages.elsewhere), (*figures.nothing, *figures.elsewhere), strict=True):
        if one.recalled:
            print(f"  ! {text}  {[messages.notes[note][:60] for note in one.recalled]}")


def _mean(values: Iterable[float]) -> float | None:
    every = list(values)
    return sum(every) / len(every) if every else None


def _options() -> argparse.Namespace:
    description = (__doc__ or "").splitlines()[0]
    parser = argparse.ArgumentParser(prog="python -m bench.notes_in_prompts", description=description)
    parser.add_argument("--data", type=Path, default=Path("data"), help="the folder of memory_set.py")
    parser.add_argument("--peers", help="a Python that has the peers")
    parser.add_argument("--nothing", type=Path, nargs="*", default=(), help="more messages that ask for nothing")
    parser.add_argument("--elsewhere", type=Path, nargs="*", default=(), help="questions about what no note says")
    parser.add_argument("--half", type=int, choices=(0, 1), help="only every other question")
    parser.add_argument("--json", type=Path, help="write the figures to this file, too")
    parser.add_argument("-v", "--verbose", action="store_true", help="print what each message recalled")
    return parser.parse_args()


if __name__ == "__main__":
    main()
