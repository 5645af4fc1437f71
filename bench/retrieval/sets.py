"""Retrieval sets in the BEIR form, each document as a file in a folder that is made once for the same content."""

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

CACHE = Path.home() / ".cache" / "promptuary-bench" / "retrieval"
MIXED = {"notes-dev": 0, "stackfaq-dev": 0, "locomo-dev": 0, "longmemeval-dev": 150, "cosqa-dev": 1_500}
"""The parts of the mixed vault, and how many documents of each are in it (0: all)."""


@dataclass(frozen=True, slots=True)
class Corpus:
    """Documents by file name, questions, which documents answer which, and the sentences that hold the answers."""

    name: str
    files: Mapping[str, str]
    questions: Mapping[str, str]
    relevant: Mapping[str, Mapping[str, int]]
    evidence: Mapping[str, Sequence[str]]


@dataclass(frozen=True, slots=True)
class Collection:
    """What is reported as one set: a corpus with its questions, or several whose questions are counted together."""

    name: str
    corpora: Sequence[Corpus]

    @property
    def questions(self) -> int:
        return sum(len(corpus.questions) for corpus in self.corpora)

    @property
    def documents(self) -> int:
        return sum(len(corpus.files) for corpus in self.corpora)


def found_sets(data: Path, names: Sequence[str], most_questions: int) -> list[Collection]:
    """Return the sets in ``data``, or those of these names, each with at most so many questions (0: all).

    A folder of folders is one set with several corpora.
    """
    folders = sorted(path for path in data.iterdir() if path.is_dir()) if data.is_dir() else []
    sets = []
    for folder in folders:
        inner = [folder, *sorted(folder.iterdir())]
        corpora = [path for path in inner if (path / "qrels.tsv").is_file()]
        if corpora and (not names or folder.name in names):
            sets.append(Collection(folder.name, [_fewer(loaded(path), most_questions) for path in corpora]))
    return sets


def mixed_sets(sets: Sequence[Collection]) -> list[Collection]:
    """Return the sets that ``MIXED`` names as one vault, a folder each; each asks its own questions in all of it.

    Of a large set only as many documents are taken, and the questions that these answer.
    """
    parts = [_part(one.corpora[0], MIXED[one.name]) for one in sets if one.name in MIXED]
    files = {f"{part.name}/{path}": text for part in parts for path, text in part.files.items()}
    return [
        Collection(f"mixed/{part.name}", [Corpus("mixed", files, part.questions, _below(part), {})]) for part in parts
    ]


def _part(corpus: Corpus, most: int) -> Corpus:
    """Return at most ``most`` documents, half of them answers, and the questions that they answer, both spread evenly.

    0 means all of them.
    """
    if not most or len(corpus.files) <= most:
        return corpus
    questions = list(corpus.questions)
    chosen: dict[str, None] = {}
    for number in sorted(questions, key=lambda one: hashlib.sha256(one.encode()).digest()):
        if len(chosen) + len(corpus.relevant[number]) <= most // 2:
            chosen |= dict.fromkeys(corpus.relevant[number])
    others = [path for path in corpus.files if path not in chosen]
    wanted = most - len(chosen)
    chosen |= dict.fromkeys(others[place * len(others) // wanted] for place in range(wanted))
    return replace(
        corpus,
        files={path: text for path, text in corpus.files.items() if path in chosen},
        questions={one: corpus.questions[one] for one in questions if chosen.keys() >= corpus.relevant[one].keys()},
    )


def _below(part: Corpus) -> dict[str, dict[str, int]]:
    return {
        number: {f"{part.name}/{path}": score for path, score in part.relevant[number].items()}
        for number in part.questions
    }


def loaded(path: Path) -> Corpus:
    """Return the corpus in ``path``, with the questions that have an answer."""
    documents = _lines(path / "corpus.jsonl")
    code = sum("def " in one["text"][:200] for one in documents) > len(documents) / 2
    names = {one["_id"]: one.get("path") or _name(one["_id"], ".py" if code else ".md") for one in documents}
    files = {
        names[one["_id"]]: f"# {one['title']}\n\n{one['text']}\n" if one.get("title") else f"{one['text']}\n"
        for one in documents
    }
    relevant: dict[str, dict[str, int]] = {}
    for line in (path / "qrels.tsv").read_text(encoding="utf-8").splitlines()[1:]:
        question, document, score = line.split("\t")
        relevant.setdefault(question, {})[names[document]] = int(score)
    questions = {one["_id"]: one["text"] for one in _lines(path / "queries.jsonl") if relevant.get(one["_id"])}
    evidence = {one["_id"]: one["evidence"] for one in _lines(path / "evidence.jsonl") if one["evidence"]}
    return Corpus(path.name, files, questions, relevant, evidence)


def written(corpus: Corpus, cache: Path) -> Path:
    """Return a folder in ``cache`` that holds the documents."""
    digest = hashlib.sha256(json.dumps(sorted(corpus.files.items())).encode()).hexdigest()[:12]
    folder = cache / f"{corpus.name}-{digest}"
    done = folder / ".promptuary" / "written"
    if not done.exists():
        for name, text in corpus.files.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        done.parent.mkdir(exist_ok=True)
        done.touch()
    return folder


def _fewer(corpus: Corpus, most: int) -> Corpus:
    """Return the corpus with at most ``most`` questions, spread evenly over all of them."""
    numbers = list(corpus.questions)
    if not most or len(numbers) <= most:
        return corpus
    chosen = [numbers[place * len(numbers) // most] for place in range(most)]
    return replace(corpus, questions={number: corpus.questions[number] for number in chosen})


def _lines(path: Path) -> list[dict[str, Any]]:
    if not path.is_file():
        return []
    # Not ``splitlines``: a string in JSON may hold other characters that it takes for ends of lines.
    return [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n") if line]


def _name(number: str, ending: str) -> str:
    return f"{re.sub(r'[^A-Za-z0-9_-]', '_', number)}{ending}"
