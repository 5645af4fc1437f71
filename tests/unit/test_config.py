"""Where settings come from, which one wins, and what a workspace may not set."""

from pathlib import Path

import pytest

from promptuary.config import OPENS_A_DOOR, Settings, find_workspace, load
from promptuary.core.errors import ConfigError
from tests.conftest import Files


def user_config(text: str) -> None:
    path = Path.home() / ".config" / "promptuary" / "config.toml"
    path.parent.mkdir(parents=True)
    path.write_text(text, encoding="utf-8")


def test_without_any_configuration_the_defaults_hold(workspace: Path) -> None:
    assert load(workspace) == Settings()
    assert load(workspace).effective_window == 128_000
    assert load(workspace).effective_vocabulary == "o200k_base"


def test_the_nearest_place_wins(files: Files, monkeypatch: pytest.MonkeyPatch) -> None:
    user_config("window = 1000\ntimeout = 1\nwarn_share = 0.1\nlimit_share = 0.2")
    workspace = files({"promptuary.toml": "window = 2000\ntimeout = 2\nwarn_share = 0.3"})
    monkeypatch.setenv("PROMPTUARY_WINDOW", "3k")
    monkeypatch.setenv("PROMPTUARY_TIMEOUT", "3")
    settings = load(workspace, {"window": "4k", "timeout": None})

    assert (settings.window, settings.timeout, settings.warn_share, settings.limit_share) == (4_000, 3.0, 0.3, 0.2)


@pytest.mark.parametrize("name", [".promptuary/config.toml", "promptuary.toml"])
def test_a_workspace_sets_what_it_wants_of_the_window(files: Files, name: str) -> None:
    assert load(files({name: 'model = "gpt-4"'})).effective_window == 8_192


def test_a_table_in_pyproject_counts_too(files: Files) -> None:
    assert load(files({"pyproject.toml": "[tool.promptuary]\nwindow = 5000\n[tool.other]\nx = 1"})).window == 5_000


@pytest.mark.parametrize("name", sorted(OPENS_A_DOOR))
def test_a_workspace_cannot_open_a_door(files: Files, name: str) -> None:
    default = getattr(Settings(), name)
    value = {bool: "true", int: "999999999", tuple: '["127.0.0.1"]'}[type(default)]
    settings = load(files({"promptuary.toml": f"{name} = {value}"}))

    assert getattr(settings, name) == default
    assert settings.ignored == (f"{name} in promptuary.toml",)


def test_the_person_can_open_a_door() -> None:
    user_config('allow_hosts = ["wiki.local"]\nfollow_symlinks = true\nmax_file_size = "2MB"')
    settings = load(Path.home())

    assert (settings.allow_hosts, settings.follow_symlinks, settings.max_file_size) == (("wiki.local",), True, 2 << 20)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("windw = 1", "windw, which is no setting"),
        ("window = 'lots'", "must be a whole number"),
        ("window = true", "must be a whole number"),
        ("window = 3", "at least 100"),
        ("limit_share = 0", "above 0 and at most 1"),
        ("limit_share = nan", "must be a number"),
        ("timeout = -1", "above 0"),
        ("model = 5", "must be text"),
        ("model = 'x9'", "is not known"),
        ("vocabulary = 'x9'", "is not known"),
        ("= 1", "is not valid TOML"),
    ],
)
def test_a_wrong_setting_is_named_with_what_it_may_be(files: Files, text: str, told: str) -> None:
    with pytest.raises(ConfigError, match=told):
        load(files({"promptuary.toml": text}))


def test_a_configuration_behind_a_link_is_not_read(files: Files, tmp_path: Path) -> None:
    (tmp_path / "elsewhere.toml").write_text("window = 999", encoding="utf-8")
    workspace = files({})
    (workspace / "promptuary.toml").symlink_to(tmp_path / "elsewhere.toml")

    assert load(workspace).window == 0


@pytest.mark.parametrize("marker", [".git/HEAD", ".promptuary/config.toml", "promptuary.toml"])
def test_the_workspace_is_the_nearest_folder_with_a_marker(files: Files, marker: str) -> None:
    root = files({marker: "", "a/b/c.txt": ""})

    assert find_workspace(root / "a" / "b") == root


def test_without_a_marker_the_folder_itself_is_the_workspace(workspace: Path) -> None:
    assert find_workspace(workspace) == workspace
