"""The embedder that all indexes share: each question is embedded once, whoever asks it."""

import threading
from collections.abc import Sequence

import pytest

from promptuary.base.errors import PromptuaryError
from promptuary.blocking import Promptuary
from promptuary.config.settings import Settings
from promptuary.models.protocols import Purpose
from promptuary.search.vectors import shared
from promptuary.search.vectors.shared import SharedEmbedder, shared_embedder
from tests.conftest import Files
from tests.embedders import HashedWords


def test_a_turn_embeds_its_question_once_for_files_notes_and_experiences(
    files: Files, monkeypatch: pytest.MonkeyPatch
) -> None:
    embedder = HashedWords()
    monkeypatch.setattr(shared, "embedder_for", lambda _: embedder)
    folder = files({"deploy.md": "The zebra service is deployed on Mondays.\n"})
    with Promptuary.open(folder, exact=True) as promptuary:
        promptuary.memory.write("The zebra service listens on port 9077.", title="Zebra")
        promptuary.experiences.add("task_solution", "restart the zebra service", {"fix": "systemctl restart zebra"})
        promptuary.search.index([folder])
        promptuary.search.embed()
        promptuary.memory.find("zebra")
        promptuary.experiences.find_similar("zebra")
        assert embedder.questions == ["zebra"]
        turn = promptuary.threads.prepare("Restart the zebra service, please")

    assert {"memory_recall", "semantic_recall", "experience"} <= {entry.layer for entry in turn.receipt.entries}
    assert embedder.questions == ["zebra", "Restart the zebra service, please"]


def test_indexes_with_the_same_settings_share_one_embedder_and_others_do_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared, "embedder_for", lambda settings: HashedWords(settings.embedder))
    first, again, other = (shared_embedder(Settings(embedder=name)) for name in ("one", "one", "other"))

    assert first is again
    assert first is not other


def test_a_question_that_failed_is_embedded_again() -> None:
    embedder = HashedWords()
    embedder.broken = "the endpoint does not answer"
    own = SharedEmbedder(embedder)
    with pytest.raises(PromptuaryError, match="does not answer"):
        own.embed(["zebra"], "query")
    embedder.broken = ""

    assert own.embed(["zebra"], "query") == embedder.embed(["zebra"], "query")


class Slow(HashedWords):
    """Embeds when it is told to."""

    def __init__(self) -> None:
        super().__init__()
        self.begun, self.released = threading.Event(), threading.Event()

    def embed(self, texts: Sequence[str], purpose: Purpose) -> Sequence[bytes]:
        self.begun.set()
        assert self.released.wait(30)
        return super().embed(texts, purpose)


def test_who_asks_while_a_question_is_being_embedded_waits_for_it() -> None:
    embedder = Slow()
    own = SharedEmbedder(embedder)
    found: list[bytes] = []
    asking = [threading.Thread(target=lambda: found.extend(own.embed(["zebra"], "query"))) for _ in range(3)]
    for thread in asking:
        thread.start()
    assert embedder.begun.wait(30)
    embedder.released.set()
    for thread in asking:
        thread.join(30)

    assert embedder.questions == ["zebra"]
    assert len(found) == 3


def test_only_the_last_questions_are_remembered() -> None:
    embedder = HashedWords()
    own = SharedEmbedder(embedder)
    for number in range(20):
        own.embed([f"zebra {number}"], "query")
    own.embed(["zebra 0"], "query")
    own.embed(["zebra 19"], "query")

    assert embedder.questions == [*(f"zebra {number}" for number in range(20)), "zebra 0"]


def test_several_questions_at_once_and_passages_go_to_the_embedder_as_they_are() -> None:
    embedder = HashedWords()
    own = SharedEmbedder(embedder)
    own.embed(["one", "two"], "query")
    own.embed(["three"], "passage")

    assert (embedder.questions, embedder.passages) == (["one", "two"], ["three"])
    assert (own.id, own.dimensions, own.scale) == (embedder.id, embedder.dimensions, embedder.scale)
