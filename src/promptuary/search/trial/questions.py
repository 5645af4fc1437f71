"""Questions that a person's own files answer: their headings, what links call them, how they begin. Pure.

What is asked is taken out of the passages, so that nothing is found because it is repeated there. A model that finds a
section without its heading by that heading knows what both mean.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, Literal, NamedTuple

from promptuary.search.chunks.links import links_in
from promptuary.search.values import Chunk, FileKind, note_name

QuestionKind = Literal["heading", "link", "beginning", "docstring"]
"""What a question was made from."""

_PROSE: Final = frozenset({"markdown", "text"})
_FEWEST_WORDS: Final = 8
"""The words that a passage must still have without what is asked."""
_LONGEST: Final = 200
MOST_OF_A_FILE: Final = 40
"""How many passages of one file are among those that are searched."""

_WORD: Final = re.compile(r"\w+")
_MARKS: Final = re.compile(r"[\s#=*_~`>|-]+")
_SENTENCE: Final = re.compile(r"(?:(?<=[.!?])\s|(?<=[。！？]))")
_DOCSTRING: Final = re.compile(r"(?:\"\"\"|'''|/\*\*)[ \t*\n]*([^\n]{10,300}?)(?:\"\"\"|'''|\*/|\n|\Z)")
_IDEOGRAPHS: Final = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")


class FileText(NamedTuple):
    """A file with its chunks."""

    path: str
    kind: FileKind
    chunks: Sequence[Chunk]


class Passage(NamedTuple):
    """A text to find, without what is asked, and whether it is source code."""

    text: str
    kind: FileKind


class TrialQuestion(NamedTuple):
    """A question, the numbers of the passages that answer it, and of one that does not count: the link is in it."""

    text: str
    kind: QuestionKind
    answers: frozenset[int]
    apart: frozenset[int] = frozenset()


class _Part(NamedTuple):
    """A chunk with its file and the texts that are taken out of it."""

    file: FileText
    chunk: Chunk
    taken: list[str]


def ask(files: Iterable[FileText], *, passages: int, questions: int) -> tuple[list[Passage], list[TrialQuestion]]:
    """Return passages of these files, at most so many, and questions that they answer, at most about so many."""
    parts = [part for part in _parts(files, passages) if _words(part.chunk.text) >= _FEWEST_WORDS]
    found = [*_headings(parts), *_links(parts), *_docstrings(parts)]
    answered = {number for question in found for number in question.answers}
    found += _beginnings(parts, answered)
    kept = {number: Passage(text, part.file.kind) for number, part in enumerate(parts) if (text := _left(part))}
    numbers = {number: place for place, number in enumerate(kept)}
    asked = [_renumbered(question, numbers) for question in _each_once(found)]
    asked = [question for question in asked if question.answers]
    step = max(1, -(-len(asked) // questions))
    return list(kept.values()), asked[::step]


def _parts(files: Iterable[FileText], most: int) -> Iterator[_Part]:
    for file in files:
        for chunk in file.chunks[:MOST_OF_A_FILE]:
            if most == 0:
                return
            most -= 1
            yield _Part(file, chunk, [])


def _headings(parts: Sequence[_Part]) -> Iterator[TrialQuestion]:
    """Yield the headings of prose that only one file has, each answered by what is below it."""
    below: dict[str, dict[str, set[int]]] = defaultdict(lambda: defaultdict(set))
    innermost: dict[str, None] = {}
    for number, part in enumerate(parts):
        if part.file.kind in _PROSE:
            for title in part.chunk.heading:
                below[title][part.file.path].add(number)
            innermost |= dict.fromkeys(part.chunk.heading[-1:])
    for title in innermost:
        if len(below[title]) == 1 and _can_be_asked(title):
            (answers,) = below[title].values()
            yield TrialQuestion(title, "heading", frozenset(answers))


def _links(parts: Sequence[_Part]) -> Iterator[TrialQuestion]:
    """Yield what links call another file, answered by that file."""
    paths: dict[str, list[str]] = defaultdict(list)
    numbers: dict[str, set[int]] = defaultdict(set)
    for number, part in enumerate(parts):
        if part.file.path not in numbers:
            paths[note_name(part.file.path)].append(part.file.path)
        numbers[part.file.path].add(number)
    for number, part in enumerate(parts):
        if part.file.kind != "markdown":
            continue
        for link in links_in(part.chunk.text):
            target = link.pointed_at(part.file.path, paths.get(link.name, ()))
            if target is not None and target != part.file.path and _can_be_asked(link.text):
                yield TrialQuestion(link.text, "link", frozenset(numbers[target]), frozenset({number}))


def _docstrings(parts: Sequence[_Part]) -> Iterator[TrialQuestion]:
    """Yield the first lines of docstrings, answered by the code around them."""
    for number, part in enumerate(parts):
        if part.file.kind == "code" and (match := _DOCSTRING.search(part.chunk.text)):
            text = match[1].strip()
            if _can_be_asked(text) and _words(part.chunk.text) - _words(text) >= _FEWEST_WORDS:
                part.taken.append(match[1])
                yield TrialQuestion(text, "docstring", frozenset({number}))


def _beginnings(parts: Sequence[_Part], answered: set[int]) -> Iterator[TrialQuestion]:
    """Yield the first sentences of files for which there is no other question, answered by the rest."""
    seen: set[str] = set()
    for number, part in enumerate(parts):
        if part.file.path in seen:
            continue
        seen.add(part.file.path)
        if part.file.kind not in _PROSE or number in answered:
            continue
        whole = _without_headings(part.chunk).strip()
        first = _SENTENCE.split(whole, maxsplit=1)[0].split("\n", 1)[0]
        text = _MARKS.sub(" ", first).strip()
        if _can_be_asked(text) and _words(whole) - _words(first) >= _FEWEST_WORDS:
            part.taken.append(first)
            yield TrialQuestion(text, "beginning", frozenset({number}))


def _left(part: _Part) -> str:
    """Return the text of a passage without what is asked; empty if nothing is left."""
    text = _without_headings(part.chunk)
    for taken in part.taken:
        text = text.replace(taken, "", 1)
    return text.strip() if _words(text) >= 3 else ""


def _without_headings(chunk: Chunk) -> str:
    titles = {_plain(title) for title in chunk.heading}
    return "\n".join(line for line in chunk.text.split("\n") if _plain(line) not in titles) if titles else chunk.text


def _plain(line: str) -> str:
    return _MARKS.sub(" ", line).strip().casefold()


def _can_be_asked(text: str) -> bool:
    """Return whether a text says what it is about: two words, or some characters where words are not separated."""
    return len(text) <= _LONGEST and (_words(text) >= 2 or len(_IDEOGRAPHS.findall(text)) >= 4)


def _words(text: str) -> int:
    """Return how many words a text has; where these are not separated, two characters count for one."""
    ideographs = len(_IDEOGRAPHS.findall(text))
    return ideographs // 2 + len(_WORD.findall(_IDEOGRAPHS.sub(" ", text) if ideographs else text))


def _each_once(questions: Sequence[TrialQuestion]) -> Iterator[TrialQuestion]:
    """Yield the questions whose words are asked only once: of others nobody knows which answer is meant."""
    count = Counter(question.text.casefold() for question in questions)
    return (question for question in questions if count[question.text.casefold()] == 1)


def _renumbered(question: TrialQuestion, numbers: Mapping[int, int]) -> TrialQuestion:
    answers, apart = (
        frozenset(numbers[number] for number in some if number in numbers)
        for some in (question.answers, question.apart)
    )
    return question._replace(answers=answers, apart=apart)
