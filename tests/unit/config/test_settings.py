"""Where settings come from, which one wins, and what a workspace may not set."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import cast, get_type_hints

import pytest
from msgspec.structs import replace

from promptuary.base.errors import ConfigError
from promptuary.config.gateways import NamedGateway
from promptuary.config.named_models import NamedModel
from promptuary.config.settings import SETTINGS, USER_ONLY, Settings, SettingsOptions, find_workspace, load
from promptuary.config.static_layers import StaticLayer
from promptuary.config.tool_servers import NamedServer
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


OWN_MODEL = 'answer_model = "mine"\n[models.mine]\nmodel = "x"\nbase_url = "http://127.0.0.1:1/v1"\nwindow = 32000'


@pytest.mark.parametrize("raised", ["window = 999999999", 'model = "gpt-4.1"'])
@pytest.mark.parametrize("own", [OWN_MODEL, "window = 32000"])
def test_a_workspace_cannot_raise_the_window_that_the_person_has(files: Files, own: str, raised: str) -> None:
    user_config(own)
    settings = load(files({"promptuary.toml": raised}))
    name = raised.split(maxsplit=1)[0]

    if own == "window = 32000" and name == "model":
        assert (settings.effective_window, settings.model) == (32_000, "gpt-4.1"), (
            "it counts otherwise, and that is all"
        )
        return
    assert settings.effective_window == 32_000
    assert (
        f"{name} in promptuary.toml is ignored: a workspace can only lower your window, 32,000 tokens; "
        "use a flag or your own configuration"
    ) in settings.warnings
    assert settings.origin(name) != "promptuary.toml"


def test_a_workspace_that_lowers_the_window_is_told_of(files: Files) -> None:
    user_config(OWN_MODEL)
    settings = load(files({"promptuary.toml": "window = 2000"}))

    assert settings.effective_window == 2_000
    assert "promptuary.toml lowers the window from 32,000 to 2,000 tokens" in settings.warnings


def test_a_flag_raises_the_window_whatever_the_workspace_says(files: Files) -> None:
    user_config(OWN_MODEL)
    assert load(files({"promptuary.toml": "window = 2000"}), {"window": "64k"}).effective_window == 64_000


def test_a_table_in_pyproject_counts_too(files: Files) -> None:
    assert load(files({"pyproject.toml": "[tool.promptuary]\nwindow = 5000\n[tool.other]\nx = 1"})).window == 5_000


@pytest.mark.parametrize("name", sorted(USER_ONLY))
def test_a_workspace_cannot_open_a_door(files: Files, name: str) -> None:
    default = getattr(Settings(), name)
    value = {bool: "true", int: "999999999", tuple: '["127.0.0.1"]', str: '"x"'}[type(default)]
    settings = load(files({"promptuary.toml": f"{name} = {value}"}))

    assert getattr(settings, name) == default
    assert settings.warnings == (
        f"{name} in promptuary.toml is ignored: a workspace cannot set it; use a flag or your own configuration",
    )


def test_the_model_that_scores_has_a_short_name(files: Files, monkeypatch: pytest.MonkeyPatch) -> None:
    own = Path.home() / ".config" / "promptuary" / "config.toml"
    own.parent.mkdir(parents=True)
    own.write_text('scoring_model = "fast"')
    assert load(files({"promptuary.toml": 'scoring_model = "evil"'})).file_reference_scoring_model == "fast"
    monkeypatch.setenv("PROMPTUARY_SCORING_MODEL", "other")
    assert load(files({})).file_reference_scoring_model == "other"
    own.write_text('scoring_model = "fast"\n[layers.file_reference]\nscoring_model = "slow"')
    with pytest.raises(ConfigError, match="set twice, once as scoring_model"):
        load(files({}))


def test_of_the_files_of_a_workspace_the_most_specific_wins(files: Files) -> None:
    table = "[tool.promptuary]\nwindow = 1000\ntimeout = 1\nlimit_share = 0.1"
    workspace = files({"pyproject.toml": table})
    files({"promptuary.toml": "window = 2000\ntimeout = 2"})
    files({".promptuary/config.toml": "window = 3000"})
    settings = load(workspace)

    assert (settings.window, settings.timeout, settings.limit_share) == (3_000, 2.0, 0.1)
    assert [settings.origin(name) for name in ("window", "timeout", "limit_share", "warn_share")] == [
        ".promptuary/config.toml",
        "promptuary.toml",
        "pyproject.toml",
        "default",
    ]


def test_every_setting_knows_where_it_comes_from(files: Files, monkeypatch: pytest.MonkeyPatch) -> None:
    user_config("warn_share = 0.1")
    monkeypatch.setenv("PROMPTUARY_TIMEOUT", "3")
    settings = load(files({"promptuary.toml": "limit_share = 0.2"}), {"model": "gpt-4"})

    names = ("warn_share", "timeout", "limit_share", "model", "window", "vocabulary", "allow_hosts")
    origins = ["your configuration", "environment", "promptuary.toml", "option", "model", "model", "default"]
    assert [settings.origin(name) for name in names] == origins


def test_the_person_can_open_a_door() -> None:
    user_config('allow_hosts = ["wiki.local"]\nfollow_symlinks = true\nmax_file_size = "2MB"')
    settings = load(Path.home())

    assert (settings.allow_hosts, settings.follow_symlinks, settings.max_file_size) == (("wiki.local",), True, 2 << 20)


WRONG = [
    ("windw = 1", "is not a setting; did you mean window"),
    ("zzz = 1", "is not a setting; `promptuary config` lists all"),
    ("window = 'lots'", "must be a whole number"),
    ("window = true", "must be a whole number"),
    ("window = 3", "between 100 and"),
    ("window = 0", "between 100 and"),
    (f"window = {'9' * 400}", "between 100 and"),
    (f"window = '{'9' * 5_000}'", "must be a whole number"),
    (f"window = 0x{'f' * 5_000}", "between 100 and"),
    (f"model = [0x{'f' * 5_000}]", "must be text"),
    ("limit_share = 0", "above 0 and at most 1"),
    ("limit_share = nan", "must be a number"),
    (f"limit_share = {'9' * 400}", "must be a number"),
    ("warn_share = 30", "did you mean 30%"),
    ("timeout = -1", "between 0.001 and"),
    ("timeout = 1e300", "between 0.001 and"),
    ("model = 5", "must be text"),
    ("vocabulary = 'x9'", "is unknown"),
]
UNREADABLE = [
    ("= 1", "is not valid TOML"),
    (f"window = {'9' * 5_000}", "a number in it is too long"),
    (f"window = {'[' * 3_000}", "is nested too deeply"),
]


@pytest.mark.parametrize(("text", "told"), [*WRONG, *UNREADABLE, ("model = 'x9'", "is unknown")])
def test_what_a_person_sets_wrongly_is_an_error_of_one_short_sentence(workspace: Path, text: str, told: str) -> None:
    user_config(text)

    with pytest.raises(ConfigError, match=told) as raised:
        load(workspace)
    assert "config.toml" in str(raised.value) or "model 'x9'" in str(raised.value)
    assert len(str(raised.value)) < 400


@pytest.mark.parametrize(("text", "told"), [*WRONG, *UNREADABLE])
def test_what_a_workspace_sets_wrongly_is_noted_and_the_rest_holds(files: Files, text: str, told: str) -> None:
    files({".promptuary/config.toml": "fetch_timeout = 7"})
    settings = load(files({"promptuary.toml": text}))

    assert replace(settings, fetch_timeout=15.0, warnings=(), origins=()) == Settings()
    assert settings.fetch_timeout == 7.0
    assert len(settings.warnings) == 1
    assert told in settings.warnings[0]
    assert "promptuary.toml" in settings.warnings[0]
    assert settings.warnings[0].endswith("(ignored)")


@pytest.mark.parametrize("text", ["tool = 1", "[tool]\npromptuary = 3", "[[tool]]\nx = 1"])
def test_a_pyproject_without_a_proper_table_is_noted(files: Files, text: str) -> None:
    (note,) = load(files({"pyproject.toml": text})).warnings

    assert "in pyproject.toml must be a table" in note


def test_a_flood_of_wrong_settings_is_noted_in_a_few_lines(files: Files) -> None:
    notes = load(files({"promptuary.toml": "\n".join(f"x{n} = 1" for n in range(50_000))})).warnings

    assert len(notes) == 6
    assert notes[-1] == "promptuary.toml sets 49,995 more unknown settings (ignored)"


def test_a_note_cannot_carry_control_characters(files: Files) -> None:
    (note,) = load(files({"promptuary.toml": '"\\u001b[31m\\n" = 1'})).warnings

    assert note.isprintable()


def test_a_configuration_that_is_not_a_plain_text_file_is_noted(files: Files, tmp_path: Path) -> None:
    (tmp_path / "elsewhere.toml").write_text("window = 999", encoding="utf-8")
    workspace = files({".promptuary/config.toml": b"\0\1\2" * 40, "pyproject.toml/x": ""})
    (workspace / "promptuary.toml").symlink_to(tmp_path / "elsewhere.toml")
    settings = load(workspace)

    assert settings.window == 0
    assert [note.partition(":")[0] for note in settings.warnings] == [
        "pyproject.toml is ignored (NOT_A_FILE)",
        "promptuary.toml is ignored (SYMLINK)",
        ".promptuary/config.toml is ignored (BINARY)",
    ]


def test_the_persons_own_file_must_be_readable_utf_8(workspace: Path) -> None:
    user_config("")
    path = Path.home() / ".config" / "promptuary" / "config.toml"
    path.write_bytes(b"model = '\xff'")
    with pytest.raises(ConfigError, match=r"config\.toml is not UTF-8"):
        load(workspace)
    path.unlink()
    path.mkdir()
    with pytest.raises(ConfigError, match=r"config\.toml cannot be read: Is a directory"):
        load(workspace)


def test_an_empty_variable_counts_as_unset(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PROMPTUARY_WINDOW", "")
    monkeypatch.setenv("PROMPTUARY_WARN_SHARE", " ")

    assert load(workspace) == Settings()


def test_a_misspelled_variable_is_noted_with_the_nearest_name(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PROMPTUARY_WINDW", "8k")
    monkeypatch.setenv("PROMPTUARY_WARN", "30%")
    monkeypatch.setenv("PROMPTUARY_SOMETHING_OF_ANOTHER_PROGRAM", "1")
    monkeypatch.setenv("PROMPTUARY_TOKEN", "pt_of_a_server")  # which clients read

    assert load(workspace).warnings == (
        "PROMPTUARY_WARN in the environment is not a setting; did you mean PROMPTUARY_WARN_SHARE?",
        "PROMPTUARY_WINDW in the environment is not a setting; did you mean PROMPTUARY_WINDOW?",
    )


def test_a_wrong_variable_is_named_as_it_is_spelled(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PROMPTUARY_WINDOW", "lots")

    with pytest.raises(ConfigError, match=r"^PROMPTUARY_WINDOW must be a whole number"):
        load(workspace)


def test_a_wrong_option_is_called_an_option(workspace: Path) -> None:
    with pytest.raises(ConfigError, match=r"^option foo is not a setting"):
        load(workspace, cast("SettingsOptions", {"foo": 1}))
    with pytest.raises(ConfigError, match=r"^option window must be between"):
        load(workspace, {"window": 10**5_000})


def test_an_unknown_model_works_if_its_window_is_given(workspace: Path) -> None:
    settings = load(workspace, {"model": "foo", "window": "8k"})

    assert (settings.effective_window, settings.effective_vocabulary) == (8_000, "o200k_base")
    assert settings.warnings == ("token counts for foo are approximate: the model is unknown, so o200k_base is used",)
    assert load(workspace, {"model": "foo", "window": "8k", "vocabulary": "llama3"}).warnings == ()


def test_an_unknown_model_of_a_workspace_is_noted(files: Files) -> None:
    settings = load(files({"promptuary.toml": "model = 'x9'"}))

    assert settings.effective_window == 128_000
    assert settings.warnings[0] == "model x9 in promptuary.toml is unknown: set window, too"


def test_counts_are_said_to_be_approximate_where_the_vocabulary_is_not_public(workspace: Path) -> None:
    assert load(workspace, {"model": "claude-3"}).warnings[0].startswith("token counts for claude-3 are approximate: ")
    assert load(workspace, {"model": "gpt-4"}).warnings == ()


@pytest.mark.parametrize("marker", [".git/HEAD", ".promptuary/config.toml", "promptuary.toml"])
def test_the_workspace_is_the_nearest_folder_with_a_marker(files: Files, marker: str) -> None:
    root = files({marker: "", "a/b/c.txt": ""})

    assert find_workspace(root / "a" / "b") == (root, [])


def test_without_a_marker_the_folder_itself_is_the_workspace(workspace: Path) -> None:
    assert find_workspace(workspace) == (workspace, [])


def test_a_person_without_a_home_has_no_configuration(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HOME")
    monkeypatch.setattr("os.path.expanduser", lambda path: path)

    assert load(workspace) == Settings()


def test_every_setting_is_an_option_of_the_same_type() -> None:
    types = NamedGateway, NamedModel, NamedServer, StaticLayer
    named = {one.__name__: one for one in types}
    hints = get_type_hints(Settings, localns=named)
    # A list may be any sequence; anything but a list may be text that spells it.
    expected = {
        name: Sequence[str] | None if hints[name] == tuple[str, ...] else hints[name] | str | None for name in SETTINGS
    }

    tables = dict.fromkeys(("mcp", "models", "static_layers"), Mapping[str, object] | None)
    assert get_type_hints(SettingsOptions) == expected | tables


@pytest.mark.parametrize(
    ("share", "goal", "then"), [(0.7, 0.35, 0.35), (0.2, 0.35, 0.1), (0.5, 0.5, 0.25), (1, 0.9, 0.9)]
)
def test_the_goal_of_a_compaction_is_below_what_makes_it_due(
    files: Files, share: float, goal: float, then: float
) -> None:
    settings = load(files({"promptuary.toml": f"compact_share = {share}\ncompact_goal_share = {goal}"}))

    assert settings.warnings == ()
    assert settings.effective_compact_goal == pytest.approx(then)


def test_what_is_shortened_becomes_shorter_whatever_is_set(files: Files) -> None:
    settings = load(files({"promptuary.toml": "shorten_over = 100\nshorten_to = 500"}))

    assert settings.effective_shorten_to == 50
    assert load(files({"promptuary.toml": "shorten_over = 900"})).effective_shorten_to == 160
