"""Layers of other packages are found by their entry points, and a broken one takes no other along."""

import logging
import struct
from pathlib import Path

import pytest

from promptuary.base.errors import PromptuaryError
from promptuary.blocking import Promptuary
from promptuary.cli.main import main
from promptuary.layers.plugins import GROUP, installed_layers
from promptuary.models.plugins import EMBEDDERS, installed_embedders
from tests.conftest import Files

MODULE = """
import threading

from promptuary import Layer


class Weather(Layer):
    id = "weather"
    band = "stable"

    async def recall(self, request, context):
        return "It rains."


def make_other():
    layer = Weather()
    layer.id = "other"
    return layer


def fail():
    raise RuntimeError("no licence")


def nothing():
    return "not a layer"


class Stuck(Layer):
    id = "stuck"
    timeouts = {"recall": 0.2}
    free = threading.Event()
    threads = []

    async def on_message(self, message, context):
        self.threads.append(threading.current_thread().name)

    async def recall(self, request, context):
        self.free.wait(60)
        return "too late"


NOT_CALLABLE = 5
"""


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder that packages can be installed into."""
    folder = tmp_path / "site"
    folder.mkdir()
    monkeypatch.syspath_prepend(str(folder))
    return folder


def install(folder: Path, name: str, **entries: str) -> None:
    (folder / f"{name}.py").write_text(MODULE)
    info = folder / f"{name}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    lines = [f"{entry} = {value}" for entry, value in entries.items()]
    (info / "entry_points.txt").write_text("\n".join([f"[{GROUP}]", *lines, ""]))


def test_without_packages_there_are_no_layers() -> None:
    assert installed_layers() == []


def test_classes_and_functions_are_found_in_the_order_of_their_names(package: Path) -> None:
    install(package, "weather_one", b="weather_one:Weather", a="weather_one:make_other")

    assert [layer.id for layer in installed_layers()] == ["other", "weather"]


def test_a_layer_of_a_package_stands_in_every_thread(package: Path, workspace: Path) -> None:
    install(package, "weather_two", weather="weather_two:Weather")
    with Promptuary.open(workspace, exact=True) as promptuary:
        turn = promptuary.threads.prepare("Hi")

    assert [message["content"] for message in turn.messages] == ["It rains.", "Hi"]


@pytest.mark.parametrize(
    "broken",
    [
        "weather_three:fail",
        "weather_three:nothing",
        "weather_three:NOT_CALLABLE",
        "weather_three:gone",
        "no_such:Layer",
    ],
)
def test_a_broken_one_is_logged_and_left_out(package: Path, broken: str, caplog: pytest.LogCaptureFixture) -> None:
    install(package, "weather_three", broken=broken, weather="weather_three:Weather")
    with caplog.at_level(logging.ERROR):
        layers = installed_layers()

    assert [layer.id for layer in layers] == ["weather"]
    assert "broken" in caplog.text


EMBEDDER = """
import struct


class Small:
    id = "small"
    dimensions = 2
    numbers = 0.6, -0.8

    def embed(self, texts, purpose):
        return [struct.pack("<2f", *self.numbers) for _ in texts]


class Zeros(Small):
    numbers = 0.0, 0.0


class NoNumber(Small):
    numbers = 1.0, float("nan")


class Endless(Small):
    numbers = 1.0, float("inf")


class Unscaled(Small):
    numbers = 3.0, 4.0


class Coarse(Small):
    numbers = 0.6, -0.75


class Few(Small):
    def embed(self, texts, purpose):
        return super().embed(texts[1:], purpose)


class Lost(Small):
    def embed(self, texts, purpose):
        raise KeyError("texts")


class Short(Small):
    def embed(self, texts, purpose):
        return [b"1234" for _ in texts]


def fail():
    raise RuntimeError("no licence")


def nothing():
    return "not an embedder"
"""


POINTED = struct.pack("<2f", 0.6, -0.8)


def install_embedders(folder: Path, name: str, **entries: str) -> None:
    install(folder, name)
    (folder / f"{name}.py").write_text(EMBEDDER)
    lines = [f"{entry} = {value}" for entry, value in entries.items()]
    (folder / f"{name}-1.0.dist-info" / "entry_points.txt").write_text("\n".join([f"[{EMBEDDERS}]", *lines, ""]))


def test_without_packages_there_are_no_embedders() -> None:
    assert installed_embedders() == {}


def test_an_embedder_of_a_package_is_made_when_it_is_asked_for(package: Path) -> None:
    install_embedders(package, "small_one", small="small_one:Small", broken="small_one:fail")
    found = installed_embedders()
    assert list(found) == ["broken", "small"]
    embedder = found["small"]()

    assert (embedder.id, embedder.dimensions, embedder.embed(["a"], "query")) == ("small", 2, [POINTED])


def test_whatever_an_embedder_does_wrong_is_one_error_that_names_it(package: Path) -> None:
    install_embedders(package, "small_five", lost="small_five:Lost", short="small_five:Short")
    lost, short = installed_embedders()["lost"](), installed_embedders()["short"]()
    lost.prepare()
    with pytest.raises(PromptuaryError, match="The embedder lost failed: KeyError"):
        lost.embed(["a"], "query")
    with pytest.raises(PromptuaryError, match="The embedder short must return one vector a text, each 8 bytes"):
        short.embed(["a"], "query")


@pytest.mark.parametrize(
    ("made", "told"),
    [
        ("Short", "must return one vector a text, each 8 bytes of 32-bit floats"),
        ("Few", "must return one vector a text, each 8 bytes of 32-bit floats"),
        ("Zeros", "returned a vector of length 0; each must be of length one"),
        ("Unscaled", "returned a vector of length 5; each must be of length one"),
        ("NoNumber", "returned a vector with a number that is not finite"),
        ("Endless", "returned a vector with a number that is not finite"),
    ],
)
def test_vectors_that_cannot_be_compared_are_refused(package: Path, made: str, told: str) -> None:
    install_embedders(package, "small_six", mine=f"small_six:{made}")
    mine = installed_embedders()["mine"]()
    with pytest.raises(PromptuaryError, match=f"The embedder mine {told}"):
        mine.embed(["a", "b"], "passage")


def test_vectors_may_be_rounded(package: Path) -> None:
    install_embedders(package, "small_seven", mine="small_seven:Coarse")

    assert len(installed_embedders()["mine"]().embed(["a", "b"], "passage")) == 2


@pytest.mark.parametrize("made", ["Zeros", "NoNumber"])
def test_with_vectors_that_cannot_be_compared_search_is_by_words_and_says_why(
    package: Path, files: Files, capsys: pytest.CaptureFixture[str], made: str
) -> None:
    # With one id they share their vectors: there are good ones to compare the question with.
    install_embedders(package, "small_eight", mine="small_eight:Small", same=f"small_eight:{made}")
    more = ["--workspace", str(files({"a.md": "Roll back.\n"})), "--embedder"]
    assert main(["index", *more, "same"]) == 1
    assert "The embedder same returned a vector" in capsys.readouterr().err
    assert main(["index", *more, "mine"]) == 0
    capsys.readouterr()

    assert main(["search", "roll", *more, "same"]) == 0
    out, err = capsys.readouterr()
    assert out.startswith("1. a.md:1-1")
    assert err.startswith("search by words\nnote: searched by words only: The embedder same returned a vector ")


@pytest.mark.parametrize("broken", ["small_two:fail", "small_two:nothing", "small_two:gone", "no_such:Embedder"])
def test_an_embedder_that_cannot_be_made_says_which(package: Path, broken: str) -> None:
    install_embedders(package, "small_two", mine=broken)
    make = installed_embedders()["mine"]
    with pytest.raises(PromptuaryError, match=f"The embedder mine \\({broken}\\)"):
        make()


def test_of_two_embedders_with_one_name_the_first_counts(package: Path, caplog: pytest.LogCaptureFixture) -> None:
    install_embedders(package, "small_three", mine="small_three:Small")
    install_embedders(package, "small_four", mine="small_four:fail")
    with caplog.at_level(logging.ERROR):
        found = installed_embedders()
    with pytest.raises(PromptuaryError, match="small_four:fail"):
        found["mine"]()

    assert "small_three:Small is skipped" in caplog.text


def test_a_layer_that_blocks_its_thread_is_left_behind_and_the_others_go_on(package: Path, files: Files) -> None:
    install(package, "weather_stuck", a="weather_stuck:Stuck", b="weather_stuck:Weather")

    with Promptuary.open(files({}), exact=True) as promptuary:
        turns = [promptuary.threads.prepare("How is it outside?", thread=name) for name in ("one", "two")]
        import weather_stuck  # type: ignore[import-not-found]

        weather_stuck.Stuck.free.set()

    assert ["It rains." in str(turn.messages) for turn in turns] == [True, True]
    assert [[failure.code for failure in turn.receipt.failures] for turn in turns] == [["TIMEOUT"], ["TIMEOUT"]]
    assert weather_stuck.Stuck.threads == ["promptuary-layer-stuck"] * 2
