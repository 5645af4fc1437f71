"""Models by name: fetched once, pinned from then on, and never half there."""

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from promptuary.base import durable
from promptuary.base.errors import ConfigError, PromptuaryError
from promptuary.models.named.catalogue import CATALOGUE, requested
from promptuary.models.named.repository import snapshot
from promptuary.models.named.store import ModelStore
from promptuary.testing.loopback import RESET, Loopback, answer
from tests.model_host import COMMIT, FILES, asked, publish, row
from tests.onnx_models import embedder_weights

NAME = "bge-small-en-v1.5"
REPOSITORY = "Xenova/bge-small-en-v1.5"
WANTED = {"onnx/model_quantized.onnx", "tokenizer.json", "config.json"}
NEWER = "f" * 40


@pytest.fixture
def server() -> Iterator[Loopback]:
    with Loopback() as running:
        publish(running, REPOSITORY)
        yield running


@pytest.fixture
def store(server: Loopback, tmp_path: Path) -> ModelStore:
    return ModelStore(tmp_path / "models", url=server.url(""))


def test_nothing_is_there_before_something_is_fetched(store: ModelStore, tmp_path: Path) -> None:
    assert store.find(NAME) is None
    assert [model.name for model in store.list()] == list(CATALOGUE)
    assert not any(model.installed or model.revision for model in store.list())
    assert not (tmp_path / "models").exists()


def test_a_model_is_fetched_with_the_files_it_needs_and_pinned(store: ModelStore, tmp_path: Path) -> None:
    seen: list[tuple[int, int]] = []
    model = store.add(NAME, lambda done, total: seen.append((done, total)))
    found = store.find(NAME)

    assert (model.installed, model.revision, model.kind) == (True, COMMIT, "embedder")
    assert {file.path: file.state for file in model.files} == dict.fromkeys(WANTED, "whole")
    assert found is not None
    assert found.hashes == {name: hashlib.sha256(FILES[name]).hexdigest() for name in WANTED}
    assert {path.name for path in (tmp_path / "models").iterdir()} == {".fetching", ".lock", "lock.json", NAME}
    assert seen[-1] == (model.size, model.size) == (sum(len(FILES[name]) for name in WANTED),) * 2
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)


def test_how_it_is_used_comes_from_the_catalogue_and_never_from_a_file_of_the_host(store: ModelStore) -> None:
    store.add(NAME)
    found = store.find(NAME)

    assert found is not None
    own = json.loads((found.folder / "promptuary.json").read_text())
    assert own["pooling"] == "cls"
    assert own["prefixes"]["query"].startswith("Represent this sentence")


def test_a_model_that_is_there_is_not_fetched_again(server: Loopback, store: ModelStore) -> None:
    store.add(NAME)
    before = server.accepted

    assert store.add(NAME).installed
    assert server.accepted == before


def test_a_pinned_model_comes_from_its_commit_although_there_is_a_newer_one(
    server: Loopback, store: ModelStore
) -> None:
    store.add(NAME)
    assert store.remove(NAME)
    assert store.find(NAME) is None
    newer = {**FILES, "onnx/model_quantized.onnx": embedder_weights(pooled="other")}
    publish(server, REPOSITORY, newer, commit=NEWER)
    server.requests.clear()

    assert store.add(NAME).revision == COMMIT
    assert not [path for path in asked(server) if path.startswith("/api/")]
    assert store.add(f"{NAME}@main").revision == NEWER
    found = store.find(NAME)
    assert found is not None
    assert (found.folder / "onnx/model_quantized.onnx").read_bytes() == newer["onnx/model_quantized.onnx"]


def test_a_pinned_file_that_is_another_now_is_refused(server: Loopback, store: ModelStore) -> None:
    store.add(NAME)
    store.remove(NAME)
    changed = {**FILES, "config.json": b'{"hidden_size": 4}'}
    publish(server, REPOSITORY, changed)

    with pytest.raises(PromptuaryError, match=r"config\.json is not the file that was expected"):
        store.add(NAME)
    assert store.find(NAME) is None


def test_a_damaged_model_is_shown_and_fetched_again(store: ModelStore) -> None:
    store.add(NAME)
    found = store.find(NAME)
    assert found is not None
    (found.folder / "config.json").write_text("{}")
    (found.folder / "tokenizer.json").unlink()
    states = {file.path: file.state for file in store.show(NAME).files}
    assert states == {"onnx/model_quantized.onnx": "whole", "tokenizer.json": "missing", "config.json": "changed"}

    assert {file.state for file in store.add(NAME).files} == {"whole"}


def test_a_fetch_that_was_stopped_continues(server: Loopback, store: ModelStore, tmp_path: Path) -> None:
    class StopError(Exception):
        pass

    def stop(done: int, _: int) -> None:
        if done > 100:
            raise StopError

    with pytest.raises(StopError):
        store.add(NAME, stop)
    assert store.find(NAME) is None
    assert list((tmp_path / "models/.fetching").rglob("*.part"))
    store.add(NAME)

    # All of the weights had arrived: they are verified, and not asked for again.
    assert len([path for path in asked(server) if path.startswith("/cdn") and "quantized" in path]) == 1


def test_a_process_that_is_killed_before_the_folder_is_in_its_place_leaves_all_for_the_next(
    server: Loopback, store: ModelStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    class KilledError(BaseException):
        pass

    def kill(*_: object, **__: object) -> None:
        raise KilledError

    with monkeypatch.context() as patch:
        patch.setattr(Path, "rename", _but_for_parts(kill))
        with pytest.raises(KilledError):
            store.add(NAME)
    before = server.accepted

    assert store.add(NAME).installed
    assert server.accepted == before


def _but_for_parts(kill: object) -> object:
    real = Path.rename

    def rename(self: Path, target: Path) -> Path:
        if self.name.endswith(".part"):
            return real(self, target)
        assert callable(kill)
        kill()
        return target

    return rename


def test_only_one_process_fetches_at_a_time(store: ModelStore, tmp_path: Path) -> None:
    (tmp_path / "models").mkdir()
    with (
        durable.locked(tmp_path / "models/.lock"),
        pytest.raises(PromptuaryError, match="another process is fetching"),
    ):
        store.add(NAME)


def test_any_repository_can_be_fetched_by_its_owner_and_name(server: Loopback, store: ModelStore) -> None:
    publish(server, "someone/tiny.model")
    assert store.add("someone/tiny.model").installed
    found = store.find("someone/tiny.model")

    assert found is not None
    assert found.folder.name == "someone--tiny.model"
    assert not (found.folder / "promptuary.json").exists()
    assert [model.name for model in store.list()][-1] == "someone/tiny.model"


@pytest.mark.parametrize(
    "name",
    ["", "unknown", "../x", "a/b/c", "a/..", "..", ".hidden/x", "a/b@../c", "a/b@", "/etc/passwd", "a\\b", "ä/b"],
)
def test_what_cannot_be_a_model_is_refused_before_anything_is_asked(
    server: Loopback, store: ModelStore, name: str
) -> None:
    with pytest.raises(ConfigError):
        store.add(name)
    assert store.find(name) is None
    assert server.accepted == 0


@pytest.mark.parametrize(
    ("files", "reason"),
    [
        ({}, "has no weights in the ONNX format"),
        ({"model.onnx": b"x"}, r"has no tokenizer\.json"),
        ({"model.onnx": b"x", "tokenizer.json": b"{}", "modules.json": b'[{"type": "Dense"}]'}, "cannot run: Dense"),
    ],
)
def test_a_repository_without_a_model_that_can_be_used_is_refused_and_not_installed(
    server: Loopback, store: ModelStore, files: dict[str, bytes], reason: str
) -> None:
    publish(server, "someone/other", files)
    with pytest.raises(PromptuaryError, match=reason):
        store.add("someone/other")

    assert store.find("someone/other") is None


@pytest.mark.parametrize(
    "listing",
    [
        None,
        [],
        "text",
        {},
        {"sha": "../../etc", "siblings": []},
        {"sha": COMMIT},
        {"sha": COMMIT, "siblings": [None, 3, {"rfilename": 5}]},
        {"sha": COMMIT, "siblings": [{"rfilename": "model.onnx", "size": 10**12}, {"rfilename": "tokenizer.json"}]},
        {"sha": COMMIT, "siblings": [{"rfilename": "model.onnx", "size": -1}, row("tokenizer.json", b"")]},
        {"sha": COMMIT, "siblings": [{"rfilename": "model.onnx", "size": True}, row("tokenizer.json", b"")]},
        {"sha": COMMIT, "siblings": [row("../../model.onnx", b""), row("tokenizer.json", b"")]},
        {"sha": COMMIT, "siblings": [row("/model.onnx", b""), row("tokenizer.json", b"")]},
    ],
)
def test_a_listing_that_lies_is_refused(listing: object) -> None:
    with pytest.raises(PromptuaryError):
        snapshot(listing, "someone/model")


def test_names_that_lead_out_of_the_folder_are_not_even_looked_at() -> None:
    rows = [row(name, b"") for name in ("model.onnx", "tokenizer.json", "../../config.json", "onnx/../../x.onnx")]

    assert set(snapshot({"sha": COMMIT, "siblings": rows}, "someone/model").files) == {"model.onnx", "tokenizer.json"}


def test_a_host_that_fails_is_told_in_a_sentence(server: Loopback, store: ModelStore) -> None:
    server.routes.clear()
    with pytest.raises(PromptuaryError, match="HTTP status 404"):
        store.add(NAME)
    server.routes[f"/api/models/{REPOSITORY}/revision/main"] = lambda: [RESET]
    with pytest.raises(PromptuaryError, match="closed the connection early"):
        store.add(NAME)
    server.routes[f"/api/models/{REPOSITORY}/revision/main"] = answer("<html>", "text/html")
    with pytest.raises(PromptuaryError, match="does not answer with JSON"):
        store.add(NAME)


def test_plain_http_is_for_this_machine_alone(tmp_path: Path) -> None:
    with pytest.raises(PromptuaryError, match="use https"):
        ModelStore(tmp_path, url="http://8.8.8.8").add(NAME)


@pytest.mark.parametrize("content", ["", "[]", '{"models": [1]}', '{"models": {"a": {"files": 1}}}'])
def test_a_lock_file_that_cannot_be_read_is_an_error_that_names_it(
    store: ModelStore, tmp_path: Path, content: str
) -> None:
    (tmp_path / "models").mkdir()
    (tmp_path / "models/lock.json").write_text(content)

    with pytest.raises(ConfigError, match=r"lock\.json cannot be read; remove it"):
        store.list()


def test_a_lock_file_names_no_file_outside_of_the_folder_of_its_model(store: ModelStore, tmp_path: Path) -> None:
    (tmp_path / "theirs.txt").write_text("secret")
    file = {"size": 6, "sha256": hashlib.sha256(b"secret").hexdigest()}
    names = ["tokenizer.json", "../../theirs.txt", "onnx/../../../theirs.txt", str(tmp_path / "theirs.txt")]
    pin = {"repository": REPOSITORY, "revision": COMMIT, "files": dict.fromkeys(names, file)}
    (tmp_path / "models" / NAME).mkdir(parents=True)
    (tmp_path / "models/lock.json").write_text(json.dumps({"models": {NAME: pin}}))

    found = store.find(NAME)
    assert [(file.path, file.state) for file in store.show(NAME).files] == [("tokenizer.json", "missing")]
    assert found is not None
    assert set(found.hashes) == {"tokenizer.json"}


def test_removing_what_is_not_there_says_so(store: ModelStore) -> None:
    assert store.remove(NAME) is False


def test_every_model_of_the_catalogue_can_be_asked_for() -> None:
    assert [requested(name).entry for name in CATALOGUE] == list(CATALOGUE.values())
    assert all("/" in entry.repository and entry.licence for entry in CATALOGUE.values())
