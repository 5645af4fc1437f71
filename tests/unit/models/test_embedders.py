"""Who embeds is what the settings say, and whoever cannot be had says what to do."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from promptuary.base.errors import ConfigError, ForeignStateError, PromptuaryError
from promptuary.blocking import Promptuary
from promptuary.config.settings import Settings, load
from promptuary.models import minilm
from promptuary.models.embedders import embedder_for, reranker_for
from promptuary.models.openai_embeddings import EndpointEmbedder
from promptuary.models.rerank_endpoint import EndpointReranker
from promptuary.search.indexes import open_search
from promptuary.search.values import SearchQuery, SyncReport
from promptuary.workspace.workspace import open_door
from tests.conftest import Files
from tests.onnx_models import cross_encoder_weights, embedder_weights, write_folder

PLUGGED = """
class Small:
    id = "small"
    dimensions = 2

    def prepare(self):
        pass

    def embed(self, texts, purpose):
        return [bytes([0, 0, 128, 63, 0, 0, 0, 0]) for _ in texts]
"""


@pytest.fixture
def _plugged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    info = tmp_path / "site/small_embedder-1.0.dist-info"
    info.mkdir(parents=True)
    (tmp_path / "site/small_embedder.py").write_text(PLUGGED)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: small_embedder\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[promptuary.embedders]\nsmall = small_embedder:Small\n")
    monkeypatch.syspath_prepend(str(tmp_path / "site"))


def test_nobody_embeds_if_that_is_what_is_set() -> None:
    assert embedder_for(Settings(embedder="none")) is None


def test_without_a_setting_the_model_of_this_machine_embeds_if_there_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(minilm, "available", lambda: True)
    assert isinstance(embedder_for(Settings()), minilm.MiniLM)
    monkeypatch.setattr(minilm, "available", lambda: False)
    assert embedder_for(Settings()) is None


def test_an_address_is_enough_to_have_an_endpoint_embed() -> None:
    settings = Settings(embed_url="http://127.0.0.1:1/v1", embed_model="small")

    assert isinstance(embedder_for(settings), EndpointEmbedder)


def test_a_folder_of_the_person_with_a_model_embeds(
    files: Files, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_folder(tmp_path / "home/models/tiny", {"onnx/model.onnx": embedder_weights()})
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    workspace = files({"a.md": "alpha", "b.md": "beta"})
    with Promptuary.open(workspace, exact=True, embedder="onnx:~/models/tiny") as p:
        p.search.index(".")
        assert p.search.embed() == 2
        found = p.search.find("alpha")

    assert (found.mode, found.hits[0].path) == ("hybrid", "a.md")


def test_a_folder_is_named_by_its_whole_path_so_that_none_of_a_workspace_is_taken(
    files: Files, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(files({"model/tokenizer.json": "{}"}))

    with pytest.raises(ConfigError, match="write its whole path"):
        embedder_for(Settings(embedder="onnx:model"))


def test_a_workspace_cannot_name_a_folder_with_a_model(files: Files) -> None:
    settings = load(files({"promptuary.toml": 'embedder = "onnx:/somewhere"\n'}))

    assert settings.embedder == "auto"
    assert any("embedder in promptuary.toml is ignored" in note for note in settings.warnings)


@pytest.mark.parametrize(
    "settings",
    [
        Settings(embedder="endpoint"),
        Settings(embedder="endpoint", embed_model="small"),
        Settings(embedder="endpoint", embed_url="http://127.0.0.1:1/v1"),
        Settings(embed_url="http://127.0.0.1:1/v1"),
    ],
)
def test_an_endpoint_needs_an_address_and_a_model_and_the_error_says_so(settings: Settings) -> None:
    with pytest.raises(ConfigError, match="set embed_url and embed_model"):
        embedder_for(settings)


@pytest.mark.usefixtures("_plugged")
def test_an_embedder_of_another_package_is_used_by_its_name(files: Files) -> None:
    workspace = files({"a.md": "alpha", "b.md": "beta"})
    settings = load(workspace, {"embedder": "small"})
    service = open_search(open_door(workspace, settings), settings)
    service.index([workspace])
    service.embed()
    found = service.find(SearchQuery("alpha"))
    service.close()

    assert (found.mode, {hit.why.cosine for hit in found.hits}) == ("hybrid", {1.0})


@pytest.mark.usefixtures("_plugged")
def test_a_name_that_nobody_has_is_told_with_those_that_there_are() -> None:
    with pytest.raises(
        ConfigError, match="'smal' is not installed; use one of: auto, none, minilm, endpoint, onnx:FOLDER, small"
    ):
        embedder_for(Settings(embedder="smal"))


@pytest.mark.parametrize(
    ("settings", "kind"),
    [
        (Settings(), None),
        (Settings(reranker="none", rerank_url="http://127.0.0.1:1"), None),
        (Settings(rerank_url="http://127.0.0.1:1"), EndpointReranker),
        (Settings(reranker="endpoint", rerank_url="http://127.0.0.1:1"), EndpointReranker),
    ],
)
def test_nobody_reranks_unless_an_address_is_set(settings: Settings, kind: type | None) -> None:
    assert (reranker_for(settings) is None) if kind is None else isinstance(reranker_for(settings), kind)


def test_a_reranker_that_cannot_be_had_says_what_to_set() -> None:
    with pytest.raises(ConfigError, match="set rerank_url"):
        reranker_for(Settings(reranker="endpoint"))
    with pytest.raises(ConfigError, match="use one of: auto, none, onnx:FOLDER, endpoint"):
        reranker_for(Settings(reranker="best"))
    with pytest.raises(ConfigError, match="write its whole path"):
        reranker_for(Settings(reranker="onnx:folder"))


def test_a_folder_with_a_cross_encoder_reranks(files: Files, tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "cross", {"model.onnx": cross_encoder_weights()})
    workspace = files({"a.md": "delta delta query", "b.md": "query alpha"})
    with Promptuary.open(workspace, exact=True, embedder="none", reranker=f"onnx:{folder}") as p:
        p.search.index(".")
        found = p.search.find("query").hits

    assert [(hit.path, hit.why.rerank) for hit in found] == [("b.md", 3.0), ("a.md", -4.0)]


def test_a_workspace_cannot_send_texts_to_a_reranker(files: Files) -> None:
    own = {"reranker": "endpoint", "rerank_url": "https://example.org", "rerank_key": "HOME", "rerank_model": "x"}
    settings = load(files({"promptuary.toml": "".join(f'{name} = "{value}"\n' for name, value in own.items())}))

    assert (settings.reranker, settings.rerank_url, settings.rerank_key, settings.rerank_model) == ("auto", "", "", "")


def test_nothing_is_written_before_something_is_indexed(files: Files) -> None:
    workspace = files({"a.md": "alpha"})
    settings = load(workspace, {"embedder": "none"})
    service = open_search(open_door(workspace, settings), settings)
    with pytest.raises(PromptuaryError, match="promptuary index"):
        service.find(SearchQuery("alpha"))
    status = service.status()
    assert (service.embed(), service.remove(workspace), service.refresh()) == (0, False, SyncReport())
    service.close()

    assert (list(status.folders), status.counts.files) == ([], 0)
    assert not (workspace / ".promptuary").exists()


def test_sizes_of_chunks_are_those_of_the_settings(files: Files) -> None:
    workspace = files({"long.md": "\n\n".join(f"alpha paragraph {number} of many words" for number in range(100))})
    chunks: list[int] = []
    for tokens in (256, 64):
        settings = load(workspace, {"embedder": "none", "chunk_tokens": tokens, "chunk_overlap": 8})
        service = open_search(open_door(workspace, settings), settings)
        service.index([workspace])
        chunks.append(service.status().counts.chunks)
        service.close()

    assert chunks[1] > 2 * chunks[0]


@pytest.mark.parametrize("package", ["numpy", "turbovec"])
def test_an_endpoint_without_the_extra_is_an_error_that_says_what_to_install(
    files: Files, monkeypatch: pytest.MonkeyPatch, package: str
) -> None:
    root = files({"a.md": "# Deploy\n"})
    monkeypatch.setattr("promptuary.search.indexes.find_spec", lambda name: None if name == package else object())

    with (
        Promptuary.open(root, exact=True, embed_url="http://127.0.0.1:1/v1", embed_model="small") as p,
        pytest.raises(ConfigError, match=r"needs numpy and turbovec, with an endpoint .* -m pip install"),
    ):
        p.search.index(".")


@pytest.mark.usefixtures("_plugged")
def test_vectors_in_a_database_of_somebody_else_are_not_used(files: Files) -> None:
    workspace = files({"a.md": "alpha", "b.md": "beta"})
    settings = load(workspace, {"embedder": "small"})
    service = open_search(open_door(workspace, settings), settings)
    service.index([workspace])
    service.embed()
    service.close()
    with closing(sqlite3.connect(workspace / ".promptuary/state.db")) as raw:
        raw.execute("UPDATE binding SET value = 'somebody else'")
        raw.commit()

    service = open_search(open_door(workspace, settings), settings)
    with pytest.raises(ForeignStateError, match="made by somebody else"):
        service.find("alpha")
    service.index([], rebuild=True)
    with pytest.raises(ForeignStateError, match="made by somebody else"):
        service.embed()
    found = service.find(SearchQuery("alpha", lexical_only=True))
    service.close()

    assert [hit.path for hit in found.hits] == ["a.md"]


@pytest.mark.usefixtures("_plugged")
def test_a_search_by_words_opens_no_database_of_the_person(files: Files) -> None:
    workspace = files({"a.md": "alpha"})
    settings = load(workspace, {"embedder": "small"})
    service = open_search(open_door(workspace, settings), settings)
    service.index([workspace])
    found = service.find(SearchQuery("alpha", lexical_only=True))
    service.close()

    assert [hit.path for hit in found.hits] == ["a.md"]
    assert not (workspace / ".promptuary/state.db").exists()
