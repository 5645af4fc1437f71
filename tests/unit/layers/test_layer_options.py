"""The options of layers, from every door: a file of settings, a flag, the environment, and code."""

from collections.abc import Mapping
from pathlib import Path
from typing import get_args

import pytest

from promptuary import ConfigError, Layer, LayerContext, RecallRequest, TrackedFiles
from promptuary.base.errors import PromptuaryError
from promptuary.blocking import Promptuary
from promptuary.cli.main import main
from promptuary.config.settings import Settings, load
from promptuary.config.static_layers import SCOPES
from promptuary.layers.layer import Scope
from tests.conftest import Files


def own_settings(text: str) -> None:
    file = Path.home() / ".config" / "promptuary" / "config.toml"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


def prompt(workspace: Path, text: str = "hello", **options: object) -> str:
    with Promptuary.open(workspace, embedder="none", **options) as promptuary:  # type: ignore[arg-type]
        turn = promptuary.threads.prepare(text, thread="t")
        return "\n\n".join(str(message["content"]) for message in turn.messages)


def statuses(workspace: Path, text: str, **options: object) -> Mapping[str, str]:
    with Promptuary.open(workspace, embedder="none", **options) as promptuary:  # type: ignore[arg-type]
        promptuary.threads.prepare(text, thread="t")
        return {one.path: one.code or one.state for one in promptuary.threads.attachments(thread="t").tracked}


def test_the_options_of_tracked_files_may_stand_in_a_table_of_the_workspace(files: Files) -> None:
    workspace = files(
        {
            "promptuary.toml": '[layers.file_reference]\nbase_dir = "api"\nslot = 90\nmax_files = 1\nmax_file_size = 9',
            "api/a.py": "x = 1\n",
            "api/large.py": "x = 1234567890\n",
        }
    )
    settings = load(workspace)

    assert settings.warnings == ()
    assert (settings.file_reference_base_dir, settings.file_reference_slot) == ("api", 90)
    assert settings.origin("file_reference_slot") == "promptuary.toml"
    assert statuses(workspace, "#a.py") == {"a.py": "ok"}
    assert statuses(workspace, "#large.py", file_reference_max_files=9)["large.py"] == "FILE_TOO_LARGE"


def test_the_extensions_of_tracked_files_are_a_list_of_what_is_allowed(files: Files) -> None:
    workspace = files(
        {"a.py": "x = 1\n", "b.md": "text\n", "Makefile": "all:\n", "c.odd": "odd\n", "LICENSE": "free\n"}
    )

    own_settings('[layers.file_reference]\nallowed_extensions = ["py", "Makefile", ".odd"]')
    assert statuses(workspace, "#a.py #b.md #Makefile #c.odd #LICENSE") == {
        "a.py": "ok",
        "b.md": "DISALLOWED_EXTENSION",
        "Makefile": "ok",
        "c.odd": "ok",
        "LICENSE": "DISALLOWED_EXTENSION",
    }


def test_a_workspace_can_narrow_what_is_tracked_and_not_widen_it(files: Files, tmp_path: Path) -> None:
    workspace = files(
        {
            "promptuary.toml": (
                '[layers.file_reference]\nallowed_extensions = ["py", ".odd", "*"]\nmax_file_size = "9MB"\n'
                'follow_symlinks = true\nscoring_model = "theirs"\nbase_dir = ".."\n'
            ),
            "a.py": "x = 1\n",
            "b.md": "text\n",
            "c.odd": "odd\n",
            "large.py": "x = 1\n" * 300_000,
        }
    )
    (tmp_path / "outside.py").write_text("secret = 1\n")
    (workspace / "link.py").symlink_to(tmp_path / "outside.py")
    notes = "\n".join(load(workspace).warnings)

    assert "file_reference_follow_symlinks in promptuary.toml is ignored: a workspace cannot set it" in notes
    assert "file_reference_scoring_model in promptuary.toml is ignored" in notes
    assert "file_reference_base_dir in promptuary.toml leaves the workspace" in notes
    assert statuses(workspace, "#a.py #b.md #c.odd #large.py #link.py") == {
        "a.py": "ok",
        "b.md": "DISALLOWED_EXTENSION",
        "c.odd": "DISALLOWED_EXTENSION",
        "large.py": "FILE_TOO_LARGE",
        "link.py": "SYMLINK",
    }
    with Promptuary.open(workspace, embedder="none") as promptuary:
        promptuary.threads.prepare("hello", thread="t")
        assert any("a workspace cannot allow .odd, *" in note for note in promptuary.notes)


def test_a_base_dir_of_the_workspace_that_a_link_leads_out_of_is_ignored_with_a_note(
    files: Files, tmp_path: Path
) -> None:
    workspace = files({"promptuary.toml": '[layers.file_reference]\nbase_dir = "out"', "a.py": "x = 1\n"})
    (tmp_path / "elsewhere").mkdir()
    (workspace / "out").symlink_to(tmp_path / "elsewhere")

    with Promptuary.open(workspace, embedder="none") as promptuary:
        turn = promptuary.threads.prepare("#a.py", thread="t")
        assert "x = 1" in str(turn.messages)
        assert any("file_reference_base_dir in promptuary.toml is ignored" in note for note in promptuary.notes)


def test_a_flag_and_the_environment_set_the_options_of_layers(
    files: Files, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    workspace = files({"a.py": "x = 1\n"})
    monkeypatch.setenv("PROMPTUARY_FILE_REFERENCE_MAX_FILES", "7")

    chosen = ("--set", "file_reference_slot=99", "--set", "instructions_tag=rules")
    assert main(["config", "--workspace", str(workspace), *chosen]) == 0
    rows = {line.split()[0]: line.split()[1:] for line in capsys.readouterr().out.splitlines() if line.strip()}
    assert rows["file_reference_max_files"] == ["7", "environment"]
    assert rows["file_reference_slot"] == ["99", "flag"]
    assert rows["instructions_tag"] == ["rules", "flag"]


def test_instructions_take_their_options(files: Files) -> None:
    workspace = files(
        {
            "promptuary.toml": '[layers.instructions]\nfolder = "api"\ntag = "rules"\nbudget = "auto"\n',
            "AGENTS.md": "Root rules.\n",
            "api/AGENTS.md": "Rules of the api.\n",
        }
    )
    text = prompt(workspace)

    assert text.index("<rules") < text.index("Root rules.") < text.index("Rules of the api.")


def test_files_stand_in_the_window_as_the_workspace_and_the_person_say(files: Files, tmp_path: Path) -> None:
    workspace = files(
        {
            "promptuary.toml": '[layers.static.style]\nfile = "docs/style.md"\ntag = "style"\nslot = 90\n'
            '[layers.static.mine]\nfile = "docs/style.md"\n[layers.static.gone]\nfile = "nowhere.md"\n',
            "docs/style.md": "Write tersely.\n",
        }
    )
    persona = tmp_path / "persona.md"
    persona.write_text("You are kind.\n")
    own_settings(f'[layers.static.mine]\nfile = "{persona}"\ntag = "persona"\nbudget = {{ max = 50 }}')

    text = prompt(workspace)
    assert text.index("<style>\nWrite tersely.") < text.index("<persona>\nYou are kind.")
    (workspace / "docs/style.md").write_text("Write at length.\n")
    assert "Write at length." in prompt(workspace)


@pytest.mark.parametrize(
    ("table", "told"),
    [
        ('file = "/etc/hosts"', "must be inside the workspace"),
        ('file = "../x.md"', "must be inside the workspace"),
        ('tag = "a"', "needs a file"),
        ('file = "a.md"\nslott = 1', "did you mean slot?"),
        ('file = "a.md"\nscope = "all"', "must be one of: thread, user"),
        ('file = "a.md"\ntag = "a b><"', "must be a name of letters"),
        ('file = "a.md"\nbudget = { min = 9, max = 1 }', "min above its max"),
        ('file = "a.md"\nreload = "often"', "must be a number"),
    ],
)
def test_a_mistake_of_the_workspace_in_a_layer_is_a_note(files: Files, table: str, told: str) -> None:
    (note,) = load(files({"promptuary.toml": f"[layers.static.x]\n{table}\n"})).warnings

    assert told in note
    assert note.endswith("(ignored)")


def test_a_secret_is_no_standing_text(files: Files) -> None:
    workspace = files({"promptuary.toml": '[layers.static.x]\nfile = ".env"\n', ".env": "KEY=hunter2\n"})

    assert "hunter2" not in prompt(workspace)


def test_compaction_may_stand_in_a_table(files: Files) -> None:
    settings = load(files({"promptuary.toml": "[compaction]\nshare = 0.5\nkeep = 3\nsummary_tokens = 900\n"}))

    assert settings.warnings == ()
    assert (settings.compact_share, settings.compact_keep, settings.summary_tokens) == (0.5, 3, 900)
    own_settings("compact_share = 0.6\n[compaction]\nshare = 0.5")
    with pytest.raises(ConfigError, match="set twice"):
        load(files({}))


@pytest.mark.parametrize("text", ["layers = 1", "[layers]\nstatic = 1", "[layers]\nodd = 1", "compaction = []"])
def test_a_table_that_is_none_is_said(files: Files, text: str) -> None:
    (note,) = load(files({"promptuary.toml": text})).warnings

    assert "must be a table" in note


def test_a_layer_with_the_id_of_a_built_in_one_takes_its_place(files: Files) -> None:
    class Mine(Layer):
        id = "instructions"

        async def recall(self, request: RecallRequest, context: LayerContext) -> str:
            return "only mine"

    workspace = files({"AGENTS.md": "Root rules.\n"})
    text = prompt(workspace, layers=[Mine()])
    assert "only mine" in text
    assert "Root rules" not in text


def test_tracked_files_are_made_without_a_workspace_and_work_in_the_one_they_are_given_to(files: Files) -> None:
    workspace = files({"api/a.py": "x = 1\n", "b.md": "text\n"})
    layer = TrackedFiles(base_dir="api", allowed_extensions=["py"], max_files=3)

    with Promptuary.open(workspace, embedder="none", layers=[layer]) as promptuary:
        turn = promptuary.threads.prepare("#a.py", thread="t")
        assert "x = 1" in str(turn.messages)
        promptuary.threads.attach("a.py", thread="u")
        assert [one.path for one in promptuary.threads.attachments(thread="u").tracked] == ["a.py"]
    with pytest.raises(ConfigError, match="no workspace yet"):
        TrackedFiles().listed(None, len)  # type: ignore[arg-type]


def test_where_tracked_files_are_replaced_by_something_else_nothing_can_be_tracked(files: Files) -> None:
    class Mine(Layer):
        id = "file_reference"

    with (
        Promptuary.open(files({"a.py": "x\n"}), embedder="none", layers=[Mine()]) as promptuary,
        pytest.raises(PromptuaryError, match="was replaced"),
    ):
        promptuary.threads.attach("a.py", thread="t")


def test_the_names_and_defaults_that_are_written_twice_agree() -> None:
    assert get_args(Scope) == SCOPES
    assert Settings().file_reference_slot == TrackedFiles().slot
