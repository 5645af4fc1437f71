"""A file of settings is changed in one place, and in no other."""

import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptuary.base.errors import ConfigError
from promptuary.config.edit import settings_file, with_setting
from promptuary.config.settings import SETTINGS
from promptuary.config.settings_file import without_tables

OWN = """\
# Mine.
window = 8_000  # small
allow_hosts = [
    "a.example",  # the wiki
]

# How notes are recalled.
[recall]
mode = "legacy_blocking"

[compaction]
keep = 3

[models.fast]
model = "m"
"""


@pytest.mark.parametrize(
    ("name", "value", "old", "new"),
    [
        ("window", 64_000, "window = 8_000  # small", "window = 64000  # small"),
        ("recall_mode", "hybrid_async", 'mode = "legacy_blocking"', 'mode = "hybrid_async"'),
        ("compact_keep", 9, "keep = 3", "keep = 9"),
        ("allow_hosts", ("b", "c"), '[\n    "a.example",  # the wiki\n]', '["b", "c"]'),
        ("budget", 5, "]\n\n# How", "]\nbudget = 5\n\n# How"),
    ],
)
def test_a_setting_keeps_its_place_and_everything_else_stays(name: str, value: object, old: str, new: str) -> None:
    assert with_setting(OWN, name, value) == OWN.replace(old, new)


@pytest.mark.parametrize(
    ("text", "changed"),
    [
        ("", "window = 5\n"),
        ("# Mine.", "# Mine.\nwindow = 5\n"),
        ("budget = 3", "budget = 3\nwindow = 5\n"),
        ("budget = 3 # why\r\n[recall]\r\n", "budget = 3 # why\r\nwindow = 5\r\n[recall]\r\n"),
        ("# Notes.\n[recall]\nmode = 'x'\n", "window = 5\n\n# Notes.\n[recall]\nmode = 'x'\n"),
        ("recall = {mode = 'x'}\n", "recall = {mode = 'x'}\nwindow = 5\n"),
    ],
)
def test_a_new_setting_stands_outside_of_tables(text: str, changed: str) -> None:
    assert with_setting(text, "window", 5) == changed


@pytest.mark.parametrize(
    ("text", "changed"),
    [
        ("[project]\nname = 'x'\n", "[project]\nname = 'x'\n\n[tool.promptuary]\nwindow = 5\n"),
        ("[tool.promptuary]\nbudget = 3\n[x]\n", "[tool.promptuary]\nbudget = 3\nwindow = 5\n[x]\n"),
        ("[tool.promptuary]\n[x]\nwindow = 1\n", "[tool.promptuary]\nwindow = 5\n[x]\nwindow = 1\n"),
        ("tool.promptuary.window = 3\n", "tool.promptuary.window = 5\n"),
    ],
)
def test_a_project_has_its_settings_in_a_table(text: str, changed: str) -> None:
    assert with_setting(text, "window", 5, "pyproject.toml") == changed


def test_the_short_name_and_the_table_of_a_layer_are_found() -> None:
    assert with_setting("scoring_model = 'x'\n", "file_reference_scoring_model", "m") == 'scoring_model = "m"\n'
    layer = "[layers.file_reference]\nmax_files = 3\n"
    assert with_setting(layer, "file_reference_max_files", 4) == layer.replace("3", "4")


@pytest.mark.parametrize("text", ["window = [", "window = 1\nwindow = 2"])
def test_what_is_not_toml_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="is not valid TOML"):
        with_setting(text, "window", 5)


def test_what_a_program_cannot_change_is_left_to_the_person() -> None:
    with pytest.raises(ConfigError, match="write it yourself: window = 5"):
        with_setting("tool = {promptuary = {}}\n", "window", 5, "pyproject.toml")


VALUES = st.one_of(st.text(), st.integers(0, 10**12), st.booleans(), st.lists(st.text()).map(tuple))


@given(name=st.sampled_from(sorted(SETTINGS)), value=VALUES, first=st.booleans())
def test_every_value_is_read_as_it_was_written(name: str, value: object, first: bool) -> None:
    before = "" if first else OWN
    try:
        after = with_setting(before, name, value)
    except ConfigError:
        assert "\x00" in repr(value) or not before.isascii() or _has_surrogates(value)
        return
    read = dict(without_tables(tomllib.loads(after), "x"))
    assert read.pop(name) == (list(value) if isinstance(value, tuple) else value)
    untouched = dict(without_tables(tomllib.loads(before), "x"))
    untouched.pop(name, None)
    assert read == untouched


def _has_surrogates(value: object) -> bool:
    return any("\ud800" <= char <= "\udfff" for char in str(value))


def test_a_file_of_a_workspace_that_has_changed_meanwhile_is_not_overwritten(tmp_path: Path) -> None:
    file = settings_file(tmp_path, here=True)
    before = file.text()
    (tmp_path / "promptuary.toml").write_text("budget = 3\n")

    with pytest.raises(ConfigError, match=r"promptuary\.toml has changed meanwhile"):
        file.write(before, "window = 5\n")
    assert (tmp_path / "promptuary.toml").read_text() == "budget = 3\n"
