"""Messages that ask for nothing bring nothing in; questions that the files answer do. With the real model."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from promptuary.blocking import Promptuary
from promptuary.models import minilm
from promptuary.models.protocols import Purpose
from promptuary.search.values import SearchQuery
from tests.conftest import Figure

pytestmark = pytest.mark.skipif(not minilm.available(), reason="the model is not installed")

HERE = Path(__file__).parents[1]
DOCS = HERE.parent / "docs"
NOTHING = [
    line
    for line in (HERE / "fixtures" / "messages_that_ask_for_nothing.txt").read_text(encoding="utf-8").splitlines()
    if line.strip() and not line.startswith("#")
]
"""Greetings, thanks, commands and small talk in five languages."""

QUESTIONS = [
    "how do I index a folder of notes",
    "which setting limits the tokens of a search reference?",
    "what happens to files with secrets in them",
    "can I keep an instruction file per folder",
    "how is a long history shortened",
    "which model makes the vectors",
    "how to attach only some lines of a file",
    "what does the receipt of a turn contain",
]


ELSEWHERE = [
    "how long does a soft-boiled egg take?",
    "who painted the Night Watch?",
    "when should roses be pruned?",
    "may a landlord keep the deposit?",
    "which vaccinations does a puppy need?",
    "how many strings does a harp have?",
    "what is the capital of Mongolia?",
    "why is the Dead Sea so salty?",
    "how do I remove red wine from a carpet?",
    "what is the offside rule in football?",
]


VECTORS: dict[tuple[str, Purpose], bytes] = {}
"""What the model made of each text: embedding the documentation takes most of the time, and happens once."""


@pytest.fixture
def promptuary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Promptuary]:
    """Index our own documentation, with vectors."""
    embed = minilm.MiniLM.embed

    def embed_once(self: minilm.MiniLM, texts: Sequence[str], purpose: Purpose) -> Sequence[bytes]:
        new = [text for text in dict.fromkeys(texts) if (text, purpose) not in VECTORS]
        VECTORS.update(zip(((text, purpose) for text in new), embed(self, new, purpose) if new else (), strict=True))
        return [VECTORS[text, purpose] for text in texts]

    monkeypatch.setattr(minilm.MiniLM, "embed", embed_once)
    workspace = tmp_path / "docs"
    workspace.mkdir()
    for path in sorted(DOCS.glob("*.md")):
        (workspace / path.name).write_bytes(path.read_bytes())
    with Promptuary.open(workspace, embedder="minilm") as opened:
        opened.search.index(["."])
        opened.search.embed()
        yield opened


def recalled(promptuary: Promptuary, message: str) -> int:
    turn = promptuary.threads.prepare(message)
    promptuary.threads.abandon(turn)
    return sum(entry.layer == "semantic_recall" for entry in turn.receipt.entries)


@pytest.mark.torture
@pytest.mark.timeout(600)  # the first of these tests embeds the files
def test_of_three_hundred_messages_that_ask_for_nothing_nearly_none_brings_anything_in(
    promptuary: Promptuary, figure: Figure
) -> None:
    assert len(NOTHING) >= 300
    tried = NOTHING[:: figure(3, 1)]
    brought = [message for message in tried if recalled(promptuary, message)]

    assert len(brought) <= 0.01 * len(tried), brought


def test_a_question_about_something_else_has_no_answer_and_brings_nothing_in(promptuary: Promptuary) -> None:
    assert [question for question in ELSEWHERE if recalled(promptuary, question)] == []
    assert not promptuary.search.find(SearchQuery(ELSEWHERE[0])).answers


def test_what_the_files_answer_is_brought_in(promptuary: Promptuary) -> None:
    assert [question for question in QUESTIONS if not recalled(promptuary, question)] == []
