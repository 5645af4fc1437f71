"""Layers of other packages are found by their entry points, and a broken one takes no other along."""

import logging
from pathlib import Path

import pytest

from promptuary.blocking import Promptuary
from promptuary.plugins import GROUP, installed_layers

MODULE = """
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
        turn = promptuary.prepare("Hi")

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
