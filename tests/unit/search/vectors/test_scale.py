"""Models whose cosines range differently are brought to one scale, by what they make of a few questions and answers."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from promptuary.models import minilm
from promptuary.models.protocols import Purpose, Scale
from promptuary.search.ranking import UNMEASURED
from promptuary.search.vectors.scale import PAIRS, measure, measured, scale_hashes, scale_of
from tests.conftest import Files
from tests.embedders import HashedWords, search_with
from tests.in_memory_index import InMemoryVectorStore

NOTES = {
    f"{name}.md": f"# {name}\n\n{text}\n"
    for name, text in (
        ("release", "Run the release script, then tell everybody on the channel."),
        ("lunch", "The canteen closes at two and opens again in the evening."),
        ("rollback", "Put the last image back and restart the workers."),
        ("holiday", "We were in Portugal, at the coast, for two weeks."),
        ("invoice", "Bills carry the year and a running number."),
        ("cat", "Minka eats tuna in the evening and dry food in the morning."),
    )
}


class Unmeasured(HashedWords):
    """Does not know its scale."""

    scale = None

    def __init__(self, name: str = "unmeasured", dimensions: int = 64) -> None:
        super().__init__(name, dimensions)


class Squeezed(Unmeasured):
    """The same with cosines from .2 to 1 only: every vector has a part in common with every other."""

    def __init__(self) -> None:
        super().__init__("squeezed")
        self.plain = HashedWords("unmeasured", self.dimensions)
        self.dimensions += 1

    def embed(self, texts: Sequence[str], purpose: Purpose) -> Sequence[bytes]:
        vectors = [np.frombuffer(one, "<f4") for one in self.plain.embed(texts, purpose)]
        return [np.append(np.sqrt(0.4) * one, np.sqrt(0.6)).astype("<f4").tobytes() for one in vectors]


def scale(embedder: HashedWords) -> Scale:
    store = InMemoryVectorStore()
    measure(store, embedder)
    return measured(store, embedder)


def test_the_narrower_the_cosines_the_more_they_are_stretched() -> None:
    wide, narrow = scale(Unmeasured()), scale(Squeezed())

    assert narrow.factor == pytest.approx(wide.factor / 0.4, rel=1e-3)
    assert narrow.unrelated == pytest.approx(0.6 + 0.4 * wide.unrelated, rel=1e-3)


def test_a_model_that_cannot_tell_texts_apart_is_not_stretched_without_end() -> None:
    same = np.eye(1, 4, dtype="<f4").tobytes()
    nearly = tuple(np.array([1, number * 1e-4, 0, 0], "<f4").tobytes() for number in range(len(PAIRS)))

    assert scale_of((same,) * 3, (same,) * 3) == Scale(1.0, 1.0)
    assert scale_of(nearly, nearly).factor == 4.0


def test_an_embedder_is_measured_once_and_one_that_knows_its_scale_never() -> None:
    store, embedder, knowing = InMemoryVectorStore(), Unmeasured(), HashedWords("another")
    assert measured(store, embedder) == measured(store, None) == UNMEASURED
    for each in (embedder, embedder, knowing):
        measure(store, each)

    assert (len(embedder.questions), len(embedder.passages)) == (len(PAIRS), len(PAIRS))
    assert (knowing.questions, measured(store, knowing)) == ([], Scale())


def test_a_search_stretches_what_a_narrow_model_says(files: Files) -> None:
    found = {}
    for embedder in (Unmeasured(), Squeezed()):
        workspace = files(NOTES)
        with search_with(workspace, embedder) as service:
            service.index([workspace])
            service.embed()
            found[type(embedder)] = [
                [hit.path for hit in service.find(query, limit=3).hits]
                for query in ("what does Minka eat in the evening", "put the image back", "a running number")
            ]

    assert found[Unmeasured] == found[Squeezed]
    assert [paths[0] for paths in found[Squeezed]] == ["cat.md", "rollback.md", "invoice.md"]


def test_a_rebuild_keeps_what_was_measured(files: Files) -> None:
    workspace, embedder = files(NOTES), Unmeasured()
    with search_with(workspace, embedder) as service:
        service.index([workspace])
        service.embed()
        service.index(rebuild=True)
        service.embed()

    assert len(embedder.passages) == len(PAIRS) + len(NOTES)
    assert len(scale_hashes()) == len(set(scale_hashes())) == 2 * len(PAIRS)


@pytest.mark.skipif(not minilm.available(), reason="the model is not installed")
def test_the_default_model_knows_what_would_be_measured(tmp_path: Path) -> None:
    model = minilm.MiniLM(cache=tmp_path)
    questions, answers = (tuple(model.embed(texts, "passage")) for texts in zip(*PAIRS, strict=True))

    assert scale_of(questions, answers) == pytest.approx(model.scale, abs=0.02)
