"""``promptuary install`` as a newcomer tries it: every client, every slip, and nothing of theirs is lost."""

import json
import os
import re
import time
import tomllib
import tracemalloc
from importlib.machinery import ModuleSpec
from pathlib import Path
from typing import Any

import pytest

from tests.interaction.conftest import Run

SETTINGS = {
    "claude-code": (".claude.json", ".claude/settings.json"),
    "codex": (".codex/config.toml", ".codex/hooks.json"),
    "gemini": (".gemini/settings.json",),
    "cursor": (".cursor/mcp.json",),
    "zed": (".config/zed/settings.json",),
    "vscode": (".config/Code/User/mcp.json",),
}
SERVERS = {
    "claude-code": "mcpServers",
    "codex": "mcp_servers",
    "gemini": "mcpServers",
    "cursor": "mcpServers",
    "zed": "context_servers",
    "vscode": "servers",
}
OURS = '"/old/bin/promptuary"'


@pytest.fixture
def home() -> Path:
    return Path(os.environ["HOME"])


def theirs(home: Path) -> dict[str, bytes]:
    """Return every file in the home but our own."""
    found = [one for one in home.rglob("*") if ".local" not in one.parts]
    return {str(one.relative_to(home)): one.read_bytes() if one.is_file() else b"" for one in found}


def foreign(home: Path, client: str, command: str = '"mine"') -> Path:
    """Write an entry called promptuary that install did not write."""
    path = home / SETTINGS[client][0]
    path.parent.mkdir(parents=True, exist_ok=True)
    name = SERVERS[client]
    if path.suffix == ".toml":
        text = f'# servers\n[{name}.promptuary] # by me\ncommand = {command}\nargs = ["mcp"]\n\n[tools]\nweb = true\n'
    else:
        more = {"claude-code": '"type": "stdio", "env": {}, ', "zed": '"source": "custom", "env": {}, '}
        more |= {"vscode": '"type": "stdio", '}
        entry = f'{{ /* by me */ {more.get(client, "")}"command": {command}, "args": ["mcp"]}}'
        text = f'{{\n\t"{name}": {{\n\t\t"promptuary": {entry}, // mine\n\t\t"b": {{}},\n\t}},\n}}\n'
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize("client", SETTINGS)
def test_an_empty_home_is_written_once_and_is_empty_again(run: Run, home: Path, client: str) -> None:
    code, shown, _ = run("install", client, "--dry-run")
    assert (code, theirs(home)) == (0, {})
    assert "+++" in shown
    assert "promptuary" in shown
    code, _, told = run("install", client)
    assert (code, theirs(home)) == (1, {})
    assert "nothing was written; --yes" in told

    assert run("install", client, "--yes")[0] == 0
    written = theirs(home)
    assert set(SETTINGS[client]) <= set(written)
    code, shown, told = run("install", client, "--yes")
    assert (code, shown, theirs(home)) == (0, "", written)
    assert "already" in told

    assert run("install", client, "--undo", "--dry-run")[0] == 0
    assert theirs(home) == written
    code, _, told = run("install", client, "--undo")
    assert (code, theirs(home)) == (1, written)
    assert "nothing was undone; --yes" in told
    assert run("install", client, "--undo", "--yes")[0] == 0
    assert theirs(home) == {}
    code, shown, told = run("install", client, "--undo", "--yes")
    assert (code, shown) == (0, "")
    assert "is not in the settings" in told


@pytest.mark.parametrize("client", SETTINGS)
def test_an_entry_that_install_did_not_write_is_kept_unless_forced_and_comes_back(
    run: Run, home: Path, client: str
) -> None:
    path = foreign(home, client)
    before = theirs(home)

    code, shown, told = run("install", client, "--yes")
    assert (code, shown, theirs(home)) == (2, "", before)
    assert f"{SERVERS[client]}.promptuary was not written by install; --force replaces it" in told
    code, _, told = run("install", client, "--undo", "--yes")
    assert (code, theirs(home)) == (1, before)
    assert "was not written by install and is left" in told

    assert run("install", client, "--yes", "--force")[0] == 0
    assert "mine" not in path.read_text(encoding="utf-8").replace("// mine", "")
    path.write_text(path.read_text(encoding="utf-8") + "\n", encoding="utf-8")  # changed since
    assert run("install", client, "--undo", "--yes")[0] == 0
    assert path.read_text(encoding="utf-8").rstrip("\n") == before[SETTINGS[client][0]].decode().rstrip("\n")


@pytest.mark.parametrize("client", SETTINGS)
def test_an_entry_of_ours_follows_the_program_to_another_place(run: Run, home: Path, client: str) -> None:
    path = foreign(home, client, OURS)
    before = theirs(home)

    code, shown, _ = run("install", client, "--yes")

    assert code == 0
    assert "/old/bin" in shown
    assert "/old/bin" not in path.read_text(encoding="utf-8")
    assert run("install", client, "--undo", "--yes")[0] == 0
    assert theirs(home) == before


@pytest.mark.parametrize("client", SETTINGS)
def test_an_entry_that_the_person_changed_since_is_left_unless_forced(run: Run, home: Path, client: str) -> None:
    run("install", client, "--yes")
    path = home / SETTINGS[client][0]
    path.write_text(path.read_text(encoding="utf-8").replace('"mcp"', '"mcp", "--root", "/x"'), encoding="utf-8")
    changed = path.read_text(encoding="utf-8")

    for words in (("install", client, "--yes"), ("install", client, "--undo", "--yes")):
        code, _, told = run(*words)
        assert code == (1 if "--undo" in words else 2)
        assert "promptuary was changed since install wrote it" in told
        assert "/x" in path.read_text(encoding="utf-8")
        assert client == "gemini" or path.read_text(encoding="utf-8") == changed  # which has its hooks in that file
    assert all(not (home / other).exists() for other in SETTINGS[client][1:]), "what was as written is undone"
    assert run("install", client, "--undo", "--yes", "--force")[0] == 0
    assert theirs(home) == {}


APPROVED = '\n[mcp_servers.promptuary.tools.write_memory] # asked once\napproval_mode = "approve"\n'
"""What Codex writes below our table when the person lets it call a tool without asking."""


@pytest.mark.parametrize(
    ("pattern", "becomes", "words"),
    [
        ("", "", ()),
        ("", "", ("--force",)),
        (r'"/[^"]*/promptuary"', '"/old/bin/promptuary"', ()),
        (r"(\[mcp_servers.promptuary\])", r"\1\nstartup_timeout_sec = 60", ("--force",)),
        ('"mcp"', '"mcp", "--root", "/x"', ("--force",)),
    ],
)
def test_tools_that_the_person_approved_in_codex_stay_approved(
    run: Run, home: Path, pattern: str, becomes: str, words: tuple[str, ...]
) -> None:
    run("install", "codex", "--yes")
    path = home / ".codex/config.toml"
    written = path.read_text(encoding="utf-8")
    path.write_text(re.sub(pattern, becomes, written) + APPROVED, encoding="utf-8")

    code, _, told = run("install", "codex", "--yes", *words)

    assert (code, path.read_text(encoding="utf-8")) == (0, written + APPROVED)
    assert "changes of yours" not in told


@pytest.mark.parametrize(
    "before",
    [
        'mcp_servers.promptuary = { command = "mine", tools.a.approval_mode = "approve" }\n',
        '[mcp_servers]\npromptuary.command = "mine"\npromptuary.tools.a.approval_mode = "approve" # mine\n',
        'mcp_servers = { promptuary = { command = "mine", tools = { a = { approval_mode = "approve" } } } }\n',
        '[mcp_servers.promptuary]\ncommand = "mine"\ntools.a = { approval_mode = "approve" }\n',
        '[mcp_servers.promptuary.tools.a]\napproval_mode = "approve"\n[mcp_servers.promptuary]\ncommand = "mine"\n',
    ],
)
def test_approvals_in_any_form_of_toml_stay_when_a_server_is_replaced(run: Run, home: Path, before: str) -> None:
    path = home / ".codex/config.toml"
    path.parent.mkdir()
    path.write_text(before, encoding="utf-8")

    assert run("install", "codex", "--yes", "--force")[0] == 0

    server = tomllib.loads(path.read_text(encoding="utf-8"))["mcp_servers"]["promptuary"]
    assert (server["args"], server["tools"]) == (["mcp", "--with-hooks"], {"a": {"approval_mode": "approve"}})
    assert run("install", "codex", "--undo", "--yes")[0] == 0
    assert path.read_text(encoding="utf-8") == before


@pytest.mark.parametrize("client", ["claude-code", "codex", "gemini"])
def test_no_hooks_after_hooks_takes_them_out_and_nothing_else(run: Run, home: Path, client: str) -> None:
    run("install", client, "--yes", "--no-hooks")
    server_alone = theirs(home)
    run("install", client, "--yes")
    assert theirs(home) != server_alone

    code, shown, _ = run("install", client, "--yes", "--no-hooks")
    assert (code, theirs(home)) == (0, server_alone)
    assert "hook" in shown
    code, _, told = run("install", client, "--undo", "--no-hooks")
    assert code == 2
    assert f"promptuary install {client} --no-hooks" in told
    run("install", client, "--undo", "--yes")
    assert theirs(home) == {}


def test_changes_of_the_person_to_a_hook_stay(run: Run, home: Path) -> None:
    run("install", "codex", "--yes")
    path = home / ".codex/hooks.json"
    path.write_text(path.read_text(encoding="utf-8").replace('"timeout": 10', '"timeout": 99', 1), encoding="utf-8")
    changed = path.read_text(encoding="utf-8")

    code, _, told = run("install", "codex", "--yes")
    assert (code, path.read_text(encoding="utf-8")) == (0, changed)
    assert "hooks.SessionStart has changes of yours and stays as it is" in told
    code, _, told = run("install", "codex", "--undo", "--yes")
    assert code == 1
    assert "the hook of promptuary in hooks.SessionStart was changed since" in told
    (left,) = json.loads(path.read_text(encoding="utf-8"))["hooks"].items()
    assert (left[0], left[1][0]["hooks"][0]["timeout"]) == ("SessionStart", 99)


def test_the_variables_that_a_server_needs_are_named_and_no_value_is_written(
    run: Run, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = home / "config" / "promptuary"
    own.mkdir(parents=True)
    (own / "config.toml").write_text('[models.m]\nbase_url = "http://x.example/v1"\nmodel = "y"\nkey_env = "MY_KEY"\n')
    for name, value in {
        "XDG_CONFIG_HOME": str(home / "config"),
        "XDG_STATE_HOME": str(home / ".local" / "elsewhere"),
        "PROMPTUARY_EMBEDDER": "none",
        "MY_KEY": "sesame-1234",
        "OPENAI_API_KEY": "sesame-5678",
        "UNRELATED": "sesame-9012",
    }.items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    for client in ("codex", "gemini", "claude-code"):
        assert run("install", client, "--yes")[0] == 0
    codex = tomllib.loads((home / ".codex/config.toml").read_text(encoding="utf-8"))["mcp_servers"]["promptuary"]
    gemini = json.loads((home / ".gemini/settings.json").read_text(encoding="utf-8"))["mcpServers"]["promptuary"]

    folders = ["PROMPTUARY_EMBEDDER", "XDG_CONFIG_HOME", "XDG_STATE_HOME"]
    assert codex["env_vars"] == [*folders, "MY_KEY", "OPENAI_API_KEY"]
    assert gemini["env"] == {"MY_KEY": "$MY_KEY", "OPENAI_API_KEY": "$OPENAI_API_KEY"}
    assert not any(b"sesame" in text for text in theirs(home).values())


@pytest.mark.parametrize("client", ["claude-code", "gemini"])
def test_the_line_that_lets_reading_tools_run_is_offered_and_is_valid(run: Run, home: Path, client: str) -> None:
    _, _, told = run("install", client, "--yes")
    line = told.split("with this line of yours: ")[1].splitlines()[0]
    (names,) = (one for group in json.loads(f"{{{line}}}").values() for one in group.values())

    assert {one.rpartition("promptuary")[2].strip("_") for one in names} == {
        "search_files",
        "search_recall_memories",
        "find_experiences",
        "explain_turn",
        "list_memories",
    }
    assert line not in "".join(map(str, theirs(home).values()))


MINE = {"type": "command", "command": "mine"}
OLD = {"type": "command", "command": "/old/bin/promptuary hook {} {}"}
ENDS = {"claude-code": "Stop", "codex": "Stop", "gemini": "AfterAgent"}


def shared_group(home: Path, client: str) -> tuple[Path, dict[str, str]]:
    """Write a group of hooks with a command of ours, as another installation has it, and one of the person."""
    path, event = home / SETTINGS[client][-1], ENDS[client]
    path.parent.mkdir(parents=True, exist_ok=True)
    ours = {**OLD, "command": OLD["command"].format(client, event)}
    group = {"matcher": "x", "hooks": [ours, MINE]}
    path.write_text(json.dumps({"hooks": {event: [group]}}), encoding="utf-8")
    return path, ours


def groups(path: Path, event: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))["hooks"][event]
    return found


@pytest.mark.parametrize("client", ENDS)
def test_force_takes_our_command_out_of_a_group_and_leaves_the_persons(run: Run, home: Path, client: str) -> None:
    path, _ = shared_group(home, client)
    before = path.read_bytes()

    code, _, told = run("install", client, "--undo", "--yes")
    assert (code, path.read_bytes()) == (1, before)
    assert "was not written by install and is left" in told
    assert run("install", client, "--undo", "--yes", "--force")[0] == 0
    assert groups(path, ENDS[client]) == [{"matcher": "x", "hooks": [MINE]}]


@pytest.mark.parametrize("client", ENDS)
def test_force_replaces_our_command_in_a_group_and_undo_puts_it_back(run: Run, home: Path, client: str) -> None:
    path, ours = shared_group(home, client)
    before = path.read_bytes()

    assert run("install", client, "--yes")[0] == 2
    assert run("install", client, "--yes", "--force")[0] == 0
    (group,) = groups(path, ENDS[client])
    assert (group["matcher"], group["hooks"][1], len(group["hooks"])) == ("x", MINE, 2)
    assert "/old/bin" not in path.read_text(encoding="utf-8")
    assert f"promptuary hook {client} {ENDS[client]}" in group["hooks"][0]["command"]

    path.write_text(path.read_text(encoding="utf-8") + "\n", encoding="utf-8")  # changed since
    assert run("install", client, "--undo", "--yes")[0] == 0
    assert groups(path, ENDS[client]) == [{"matcher": "x", "hooks": [ours, MINE]}]
    path.write_bytes(before)
    run("install", client, "--yes", "--force")
    assert run("install", client, "--undo", "--yes")[0] == 0
    assert path.read_bytes() == before


@pytest.mark.parametrize(("client", "more"), [("claude-code", ()), ("codex", ("--force",)), ("gemini", ("--force",))])
def test_commands_that_the_person_put_beside_ours_stay(
    run: Run, home: Path, client: str, more: tuple[str, ...]
) -> None:
    run("install", client, "--yes")
    path, event = home / SETTINGS[client][-1], ENDS[client]
    settings = json.loads(path.read_text(encoding="utf-8"))
    settings["hooks"][event][0]["hooks"].append(MINE)
    path.write_text(json.dumps(settings, indent=2), encoding="utf-8")

    code, _, told = run("install", client, "--yes", *more)
    assert (code, json.loads(path.read_text(encoding="utf-8"))) == (0, settings)
    assert "already" in told
    assert run("install", client, "--undo", "--yes", *more)[0] == 0
    assert json.loads(path.read_text(encoding="utf-8")) == {"hooks": {event: [{"hooks": [MINE]}]}}


def test_our_commands_in_groups_with_matchers_follow_the_program_and_come_back(run: Run, home: Path) -> None:
    run("install", "claude-code", "--yes")
    path = home / ".claude/settings.json"
    settings = json.loads(path.read_text(encoding="utf-8"))
    (command,) = settings["hooks"]["SessionStart"][0]["hooks"]
    old = {**command, "command": "/old/bin/promptuary hook claude-code SessionStart"}
    settings["hooks"]["SessionStart"] = [
        {"matcher": "startup", "hooks": [old]},
        {"matcher": "resume", "hooks": [old, MINE, old]},
        {"matcher": "clear", "hooks": [MINE]},
    ]
    path.write_text(json.dumps(settings), encoding="utf-8")

    assert run("install", "claude-code", "--yes")[0] == 0
    assert groups(path, "SessionStart") == [
        {"matcher": "startup", "hooks": [command]},
        {"matcher": "resume", "hooks": [command, MINE]},
        {"matcher": "clear", "hooks": [MINE]},
    ]
    path.write_text(path.read_text(encoding="utf-8") + "\n", encoding="utf-8")  # changed since
    assert run("install", "claude-code", "--undo", "--yes", "--force")[0] == 0
    assert groups(path, "SessionStart") == [
        {"matcher": "startup", "hooks": [old]},
        {"matcher": "resume", "hooks": [old, MINE]},
        {"matcher": "clear", "hooks": [MINE]},
    ]


def make_read_only(path: Path) -> None:
    path.write_text("{}", encoding="utf-8")
    path.chmod(0o444)


SLIPS: dict[str, tuple[Any, str]] = {
    "read-only": (make_read_only, "is read-only; make it writable first"),
    "a folder": (lambda path: path.mkdir(), "is not a file; move it away first"),
    "a loop": (lambda path: path.symlink_to(path), "Too many levels"),
    "no JSON": (lambda path: path.write_text('{"a": }', encoding="utf-8"), "line 1 is not JSON"),
    "not UTF-8": (lambda path: path.write_bytes('{"ä": 1}'.encode("utf-16")), "is not UTF-8"),
    "a pipe": (os.mkfifo, "is not a file"),
    "a list": (lambda path: path.write_text("[1]", encoding="utf-8"), "the file is not an object"),
}


@pytest.mark.parametrize("slip", SLIPS)
def test_a_file_that_cannot_be_changed_is_named_and_stays(run: Run, home: Path, slip: str) -> None:
    make, said = SLIPS[slip]
    (home / ".gemini").mkdir()
    make(home / ".gemini/settings.json")
    before = theirs(home)

    for more in (("--yes",), ("--dry-run",)):
        code, _, told = run("install", "gemini", *more)
        assert code == 2
        assert said in told
        assert told.count("settings.json") == 1
        assert told.count("nothing was written") == 1
    code, _, told = run("install", "gemini", "--undo", "--yes")
    assert code in {0, 1}
    assert told.count("settings.json") <= 1
    assert theirs(home) == before


def test_one_file_that_cannot_be_changed_keeps_the_other_as_it_is(run: Run, home: Path) -> None:
    (home / ".claude").mkdir()
    (home / ".claude/settings.json").write_text("{", encoding="utf-8")

    code, _, told = run("install", "claude-code", "--yes")

    assert code == 2
    assert "nothing was written" in told
    assert theirs(home) == {".claude": b"", ".claude/settings.json": b"{"}


@pytest.mark.parametrize("client", SETTINGS)
def test_a_link_into_a_folder_of_dotfiles_stays_a_link(run: Run, home: Path, client: str) -> None:
    (home / "dotfiles").mkdir()
    for at, name in enumerate(SETTINGS[client]):
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).symlink_to(home / "dotfiles" / f"new/{at}" if at else home / "dotfiles" / "0")
    (home / "dotfiles/0").write_text("" if client == "codex" else "{}", encoding="utf-8")
    before = theirs(home)

    assert run("install", client, "--yes")[0] == 0
    assert "promptuary" in (home / "dotfiles/0").read_text(encoding="utf-8")
    assert all((home / name).is_symlink() for name in SETTINGS[client])
    assert run("install", client, "--undo", "--yes")[0] == 0
    assert all((home / name).is_symlink() for name in SETTINGS[client])
    assert theirs(home) == before


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[[mcp_servers]]\nx = 1\n", "mcp_servers is an array of tables"),
        ("mcp_servers = 7\n", "mcp_servers is not a table"),
        ("x = = 7\n", "it is not TOML: Invalid value (at line 1"),
    ],
)
def test_toml_that_cannot_hold_a_server_is_named_with_what_to_add(run: Run, home: Path, text: str, said: str) -> None:
    (home / ".codex").mkdir()
    (home / ".codex/config.toml").write_text(text, encoding="utf-8")

    code, _, told = run("install", "codex", "--yes")

    assert code == 2
    assert said in told
    assert "not TOML" in said or "mcp_servers.promptuary = { command = " in told
    assert (home / ".codex/config.toml").read_text(encoding="utf-8") == text


@pytest.mark.parametrize("text", ["", "{ }\n", "\ufeff{\r\n}"])
def test_a_file_that_held_nothing_is_as_it_was_also_if_it_was_laid_out_anew(run: Run, home: Path, text: str) -> None:
    path = home / ".cursor/mcp.json"
    path.parent.mkdir()
    path.write_bytes(text.encode())
    run("install", "cursor", "--yes")
    laid_out = json.dumps(json.loads(path.read_text(encoding="utf-8-sig")))  # as an editor may save it
    path.write_text(laid_out, encoding="utf-8")

    assert run("install", "cursor", "--undo", "--yes")[0] == 0
    assert path.read_bytes() == text.encode()


def test_output_for_programs_says_what_becomes_of_each_file(run: Run, home: Path) -> None:
    path = str(home / ".cursor/mcp.json")
    code, shown, _ = run("install", "cursor", "--yes", "--json")
    (one,) = json.loads(shown)["files"]
    assert (code, one["path"], json.loads(shown)["written"]) == (0, path, True)
    code, shown, _ = run("install", "cursor", "--undo", "--dry-run", "--json")
    (one,) = json.loads(shown)["files"]
    assert (code, one["done"], json.loads(shown)["undone"]) == (0, "as it was", False)
    assert one["diff"].startswith(f"--- {path}\n+++ /dev/null")
    code, shown, _ = run("install", "cursor", "--undo", "--yes", "--json")
    assert (code, json.loads(shown)["undone"], theirs(home)) == (0, True, {})


def test_output_for_programs_says_that_yes_is_missing(run: Run, home: Path) -> None:
    code, shown, told = run("install", "cursor", "--json")
    assert (code, json.loads(shown)["written"], theirs(home)) == (1, False, {})
    assert json.loads(shown)["error"] == "nothing was written; --yes writes it without asking"
    assert told == "promptuary: nothing was written; --yes writes it without asking\n"

    run("install", "cursor", "--yes")
    written = theirs(home)
    code, shown, told = run("install", "cursor", "--undo", "--json")
    (one,) = json.loads(shown)["files"]
    assert (code, one["done"], json.loads(shown)["undone"], theirs(home)) == (1, "left", False, written)
    assert json.loads(shown)["error"] == "nothing was undone; --yes undoes it without asking"
    assert told == "promptuary: nothing was undone; --yes undoes it without asking\n"
    assert "error" not in json.loads(run("install", "cursor", "--undo", "--json", "--yes")[1])


def test_each_thing_that_is_left_has_a_line(run: Run, home: Path) -> None:
    run("install", "claude-code", "--yes")
    path = home / ".claude/settings.json"
    path.write_text(path.read_text(encoding="utf-8").replace('"timeout": 10', '"timeout": 99'), encoding="utf-8")

    code, _, told = run("install", "claude-code", "--undo", "--yes")

    lines = [line for line in told.splitlines() if "is left" in line]
    assert (code, len(lines)) == (1, 4)
    for event in ("SessionStart", "UserPromptSubmit", "Stop", "PreCompact"):
        (line,) = (line for line in lines if f"hooks.{event} was changed since install wrote it" in line)
        assert line.startswith(f"promptuary: {path}: the hook")


def test_nothing_is_installed_that_could_not_start(run: Run, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None if name == "mcp" else ModuleSpec(name, None))
    code, out, err = run("install", "codex", "--yes")

    assert (code, out) == (2, "")
    assert "promptuary mcp needs the 'mcp' extra: " in err
    assert theirs(home) == {}
    assert "not in the settings" in run("install", "codex", "--undo")[2]


@pytest.mark.parametrize("client", SETTINGS)
def test_a_preview_shows_no_key_of_a_neighbour(run: Run, home: Path, client: str) -> None:
    path = home / SETTINGS[client][0]
    path.parent.mkdir(parents=True, exist_ok=True)
    name, keys = SERVERS[client], ("plain-looking-key", "sk-other", "in-the-arguments", "in-a-long-text")
    if path.suffix == ".toml":
        text = (
            f'[{name}.promptuary]\ncommand = "old"\nenv = {{ TOKEN = "{keys[0]}" }}\n\n[{name}.other]\n'
            f'args = ["--key", "{keys[2]}"]\nnotes = """\n{keys[3]}\n"""\nenv = {{ KEY = "{keys[1]}" }}\n'
        )
    else:
        server = {"command": "x", "args": ["--key", keys[2]], "env": {"KEY": keys[1]}}
        entries = {"promptuary": {"command": "old", "env": {"TOKEN": keys[0]}}, "other": server}
        text = json.dumps({name: entries, "last": keys[3]}, indent=2)
    path.write_text(text, encoding="utf-8")

    for words in ((), ("--json",), ("--force", "--yes"), ("--undo",), ("--undo", "--json"), ("--undo", "--yes")):
        force = () if "--undo" in words else ("--force",)
        code, out, err = run("install", client, *dict.fromkeys((*words, *force)))
        assert code in {0, 1}, err
        assert not [key for key in keys if key in out + err], words
    assert all(key in path.read_text(encoding="utf-8") for key in keys)


@pytest.mark.parametrize(
    "text",
    [
        ".".join("a" * 10_000) + " = 1\n",
        "mcp_servers." + ".".join("a" * 10_000) + " = 1\n",
        "[" + ".".join("a" * 10_000) + "]\n",
        "[[" + ".".join(['"a"'] * 5_000) + "]]\n",
        "x = {" + ".".join("a" * 10_000) + " = 1}\n",
        "x = " + ("{" + ".".join("a" * 40) + " = ") * 200 + "1" + "}" * 200 + "\n",
        "x = " + "[" * 10_000 + "]" * 10_000 + "\n",
        "x = " + "[{a = " * 90 + "1" + "}]" * 90 + "\n",
        "x = " + "1_" * 10_000 + "1\n",
    ],
)
def test_settings_that_nest_too_deep_are_refused_at_once(run: Run, home: Path, text: str) -> None:
    path = home / ".codex" / "config.toml"
    path.parent.mkdir()
    path.write_text(text, encoding="utf-8")
    run("install", "codex", "--yes")  # imports what it needs
    begun = time.process_time()
    tracemalloc.start()
    code, out, err = run("install", "codex", "--yes")
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert (code, out) == (2, "")
    assert "nothing was written" in err
    assert (time.process_time() - begun < 2, peak < 64 << 20) == (True, True)
    assert path.read_text(encoding="utf-8") == text
