"""The model of a search is loaded before the program, if it will be needed; and if not, nothing of it is."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from promptuary.blocking import Promptuary
from promptuary.models import minilm
from promptuary.search import preload

HEAVY = {"numpy", "onnxruntime", "tokenizers", "turbovec"}


@pytest.fixture
def begun(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    found: list[Path] = []
    monkeypatch.setattr(minilm, "preload", found.append)
    return found


def vault(folder: Path, embedder: str) -> Path:
    (folder / "note.md").write_text("# Note\n\nHow to undo a release.\n")
    with Promptuary.open(folder, exact=True, embedder=embedder) as promptuary:
        promptuary.search.index(folder)
        promptuary.search.embed()
    (folder / "inner").mkdir()
    return folder


@pytest.mark.skipif(not minilm.available(), reason="the extra is not installed")
def test_where_the_index_has_vectors_the_model_is_begun_also_from_a_folder_within(
    tmp_path: Path, begun: list[Path]
) -> None:
    root = vault(tmp_path, "minilm")

    preload.begin(str(root))
    preload.begin(str(root / "inner"))

    assert [folder.name for folder in begun] == ["models", "models"]


def test_without_vectors_or_without_an_index_nothing_is_begun(tmp_path: Path, begun: list[Path]) -> None:
    root = vault(tmp_path, "none")

    preload.begin(str(root))
    preload.begin("/")
    preload.begin(str(root / "not there"))

    assert begun == []


@pytest.mark.skipif(not minilm.available(), reason="the extra is not installed")
def test_a_guess_never_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(_: Path) -> None:
        raise AttributeError("another numpy than it was made for")

    root = vault(tmp_path, "minilm")
    monkeypatch.setattr(minilm, "preload", broken)
    preload.begin(str(root))


@pytest.mark.skipif(not minilm.available(), reason="the extra is not installed")
def test_a_profiler_gets_to_the_end_and_what_was_printed_is_not_lost(tmp_path: Path) -> None:
    root = vault(tmp_path, "minilm")
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    search = ["-m", "promptuary", "search", "--workspace", str(root), "release"]
    plain = subprocess.run([sys.executable, *search], check=True, capture_output=True, text=True, env=environment)
    profiled = subprocess.run(
        [sys.executable, "-m", "cProfile", *search], check=True, capture_output=True, text=True, env=environment
    )

    assert "note.md" in plain.stdout
    assert "function calls" in profiled.stdout


@pytest.mark.skipif(not minilm.available(), reason="the extra is not installed")
@pytest.mark.parametrize(("flags", "loaded"), [([], HEAVY - {"turbovec"}), (["--lexical"], set())])
def test_a_search_loads_what_it_needs_and_a_search_by_words_nothing_of_it(
    tmp_path: Path, flags: list[str], loaded: set[str]
) -> None:
    root = vault(tmp_path, "minilm")
    program = "import sys; from promptuary.cli.main import main\n"
    program += f"code = main(['search', '--workspace', {str(root)!r}, 'release', '--quiet', *{flags!r}])\n"
    program += "print(code, *sorted(sys.modules))"
    done = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    code, *modules = done.stdout.splitlines()[-1].split()

    assert code == "0"
    assert set(modules) & HEAVY == loaded
