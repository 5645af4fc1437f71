"""Settings of agents: changed as text and put back byte for byte, whatever they look like, also half-way."""

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st

from promptuary.base import durable
from promptuary.base.errors import PromptuaryError
from promptuary.hooks.install import jsonc, toml_text
from promptuary.hooks.install.clients import SettingsFile, settings_files
from promptuary.hooks.install.installing import planned, planned_undo, undo, write
from tests.conftest import TORTURE

CLIENTS = ("claude-code", "codex", "gemini", "cursor", "zed", "vscode")
COMMAND = ["/usr/bin/promptuary"]


MOVED = ["/opt/new place/bin/promptuary"]
SIZE = settings(max_examples=500 if TORTURE else 25)
"""At the full figures a client takes some ten seconds in each property."""


@pytest.fixture
def home() -> Path:
    return Path(os.environ["HOME"])


class KilledError(BaseException):
    """The process ended here."""


names = st.text(st.characters(codec="utf-8", exclude_characters='"\\/*', exclude_categories=("Cc", "Cs")), max_size=8)
plain = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | names,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=3),
    max_leaves=6,
)
blanks = st.sampled_from(
    ["", " ", "\n", "\n  ", "\t", "\n\t", " // a comment\n", " /* one */ ", "\n\n    // }\n    ", ' /* ", */']
)
KEYS = ("mcpServers", "hooks", "context_servers", "servers", "theme")


@st.composite
def spelled(draw: st.DrawFn, value: Any, depth: int = 0) -> str:
    """Return JSON with comments, trailing commas and any layout."""
    if isinstance(value, dict | list) and value and depth < 6:
        parts = []
        for one in value.items() if isinstance(value, dict) else value:
            key = (
                f"{json.dumps(one[0], ensure_ascii=draw(st.booleans()))}{draw(blanks)}:"
                if isinstance(one, tuple)
                else ""
            )
            inner = draw(spelled(one[1] if isinstance(one, tuple) else one, depth + 1))
            parts.append(f"{draw(blanks)}{key}{draw(blanks)}{inner}{draw(blanks)}")
        end = f",{draw(blanks)}" if draw(st.booleans()) else ""
        first, last = "{}" if isinstance(value, dict) else "[]"
        return f"{first}{','.join(parts)}{end}{last}"
    empty = draw(blanks) if isinstance(value, dict | list) else ""
    shown = json.dumps(value)
    return f"{shown[0]}{empty}{shown[-1]}" if empty else shown


@st.composite
def settings_texts(draw: st.DrawFn) -> str:
    """Return the text of a settings file in JSON, which may hold servers and hooks already."""
    value: dict[str, Any] = draw(st.dictionaries(names | st.sampled_from(KEYS), plain, max_size=5))
    for key in ("mcpServers", "context_servers", "servers"):
        if key in value:
            value[key] = draw(st.dictionaries(names, plain, max_size=2))
    if "hooks" in value:
        events = st.sampled_from(["Stop", "SessionStart", "BeforeAgent", "PreToolUse"])
        value["hooks"] = draw(st.dictionaries(events, st.lists(plain, max_size=2), max_size=3))
    text = f"{draw(blanks)}{draw(spelled(value))}{draw(st.sampled_from(['', chr(10), ' // end' + chr(10)]))}"
    text = draw(st.sampled_from(["", "\ufeff"])) + text
    return text.replace("\n", "\r\n") if draw(st.booleans()) else text


KEYS_OF_ROOT = st.sampled_from(
    [
        "model = 'o5' # mine",
        '"a.b" = [1, # one\n  2, ["}"], ]',
        'mcp_servers.x.command = "a"\nmcp_servers."y z".args = []',
        'mcp_servers = { x = { command = "a", args = ["}", "#"] } } # inline',
        "mcp_servers = {}",
        'text = """\n[mcp_servers.promptuary]\n\\""" x""""',
        "other = '''[x]\n# '''",
        "since = 1979-05-27 07:32:00",
    ]
)
TABLES = st.sampled_from(
    [
        "[tools]\nweb = true",
        "[[profiles]]\nname = 'a'\n[[profiles]]\nname = 'b' # b",
        '[mcp_servers.other]\ncommand = "x"\nargs = []\n',
        "[mcp_servers]\ny = { command = 'y' }\nz.command = 'z'",
        "[ 'mcp_servers' . \"q\".env ] # odd\nA = '1'",
        "# only\n\n",
    ]
)


@st.composite
def toml_texts(draw: st.DrawFn) -> str:
    """Return the text of a settings file in TOML, in every form that servers can have."""
    parts = [
        *draw(st.lists(KEYS_OF_ROOT, max_size=3, unique=True)),
        *draw(st.lists(TABLES, max_size=3, unique=True)),
    ]
    text = "\n".join(f"{one}{draw(st.sampled_from(['', '', ' # end', chr(10)]))}" for one in parts)
    try:
        tomllib.loads(text)
    except ValueError:
        reject()
    text = draw(st.sampled_from(["", "\ufeff"])) + text + draw(st.sampled_from(["", "\n", "\n\n"]))
    return text.replace("\n", "\r\n") if draw(st.booleans()) else text


@contextmanager
def new_home() -> Iterator[Path]:
    """Let everything be in a new home: Hypothesis has no fixture for each example."""
    before = dict(os.environ)
    for name in ("XDG_STATE_HOME", "XDG_CONFIG_HOME", "CLAUDE_CONFIG_DIR", "CODEX_HOME"):
        os.environ.pop(name, None)
    try:
        # In memory where the system has a place for that: the disk would take most of the time.
        with TemporaryDirectory(dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None) as home:
            os.environ["HOME"] = home
            yield Path(home)
    finally:
        os.environ.clear()
        os.environ.update(before)


def text_for(data: st.DataObject, one: SettingsFile) -> str:
    if one.path.suffix == ".toml":
        return data.draw(toml_texts())
    return data.draw(settings_texts())


def snapshot(home: Path) -> dict[str, bytes | None]:
    found = [one for one in home.rglob("*") if ".local" not in one.parts]
    return {str(one.relative_to(home)): one.read_bytes() if one.is_file() else None for one in found}


def entries(one: SettingsFile) -> Any:
    text = one.path.read_bytes().decode()
    return (
        tomllib.loads(text.removeprefix("\ufeff").replace("\r\n", "\n"))
        if one.path.suffix == ".toml"
        else jsonc.parsed(text).value
    )


def written_files(data: st.DataObject, client: str, command: Sequence[str] = COMMAND) -> list[SettingsFile]:
    """Return the files of a client; some of them have been there before."""
    files = settings_files(client, command)
    for one in files:
        if data.draw(st.booleans()):
            one.path.parent.mkdir(parents=True, exist_ok=True)
            one.path.write_bytes(text_for(data, one).encode())
    return files


@pytest.mark.torture
@pytest.mark.parametrize("client", CLIENTS)
@SIZE
@given(data=st.data())
def test_undo_gives_back_every_byte(client: str, data: st.DataObject) -> None:
    with new_home() as home:
        files = written_files(data, client)
        before = snapshot(home)
        old = {one.path: entries(one) if one.path.exists() else {} for one in files}

        write(client, planned(client, files))
        for one in files:
            assert kept(old[one.path], entries(one))
        assert planned(client, files) == []
        undo(client, planned_undo(client, files))

        assert snapshot(home) == before
        assert {one.how for one in planned_undo(client, files)} == {"not there"}


def kept(old: Any, new: Any) -> bool:
    """Tell whether everything that was there is there, in its place."""
    if isinstance(old, dict):
        return isinstance(new, dict) and all(key in new and kept(value, new[key]) for key, value in old.items())
    if isinstance(old, list):
        return isinstance(new, list) and new[: len(old)] == old
    return bool(old == new)


@pytest.mark.torture
@pytest.mark.parametrize("client", CLIENTS)
@SIZE
@given(data=st.data())
def test_undo_after_a_kill_half_way_gives_back_every_byte(client: str, data: st.DataObject) -> None:
    left = [data.draw(st.integers(0, 4))]

    def dying(*arguments: Any, **options: Any) -> None:
        if not left[0]:
            raise KilledError
        left[0] -= 1
        replace(*arguments, **options)

    replace = durable.replace
    with new_home() as home, pytest.MonkeyPatch.context() as patch:
        files = written_files(data, client)
        before = snapshot(home)
        patch.setattr(durable, "replace", dying)
        with suppress(KilledError):
            write(client, planned(client, files))
        for command in data.draw(st.sampled_from([[], [COMMAND], [MOVED], [MOVED, COMMAND]])):
            # It is tried again, perhaps from another place, and dies again or not.
            left[0] = data.draw(st.integers(0, 4))
            files = settings_files(client, command, hooks=data.draw(st.booleans()))
            with suppress(KilledError):
                write(client, planned(client, files))
        left[0] = data.draw(st.integers(0, 2))
        with suppress(KilledError):
            undo(client, planned_undo(client, files))
        left[0] = 99
        done = undo(client, planned_undo(client, files))

        assert [one.reason for one in done if one.reason] == []
        assert snapshot(home) == before


def test_a_process_that_is_killed_while_it_writes_leaves_whole_files(tmp_path: Path) -> None:
    (tmp_path / ".claude").mkdir()
    texts = {".claude.json": '{"a": 1}', ".claude/settings.json": "{\n  // mine\n}\n"}
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    program = (
        "import os, sys; from promptuary.base import durable; real = durable.replace; count = [0]\n"
        "def dying(*a, **k):\n    count[0] += 1\n"
        "    os.kill(os.getpid(), 9) if count[0] == int(sys.argv[1]) else real(*a, **k)\n"
        "durable.replace = dying\n"
        "from promptuary.cli.main import main; main(['install', 'claude-code', '--yes'])"
    )
    environment = os.environ | {"HOME": str(tmp_path)}
    for number in (1, 2, 3):
        command = [sys.executable, "-c", program, str(number)]
        done = subprocess.run(command, env=environment, capture_output=True, check=False)
        assert done.returncode == -9
        command = [sys.executable, "-m", "promptuary", "install", "claude-code", "--undo", "--yes"]
        subprocess.run(command, env=environment, capture_output=True, check=True)

        assert {name: (tmp_path / name).read_text() for name in texts} == texts


@pytest.mark.torture
@pytest.mark.parametrize("client", CLIENTS)
@SIZE
@given(data=st.data())
def test_what_was_added_meanwhile_stays_when_it_is_undone_or_installed_anew(client: str, data: st.DataObject) -> None:
    with new_home():
        files = written_files(data, client)
        old = {one.path: entries(one) if one.path.exists() else {} for one in files}
        write(client, planned(client, files))
        for one in files:
            later = with_another_server(one, one.path.read_bytes().decode())
            one.path.write_bytes(later.encode())
        comments = {one.path: comments_of(one) for one in files}
        if data.draw(st.booleans()):
            files = settings_files(client, MOVED)
            write(client, planned(client, files))
        done = undo(client, planned_undo(client, files))

        assert [each.reason for each in done if each.reason] == []
        for one in files:
            assert without_empty(entries(one)) == without_empty(with_server(one, old[one.path]))
            assert comments_of(one) == comments[one.path]


def with_another_server(one: SettingsFile, text: str) -> str:
    if one.path.suffix == ".toml":
        return toml_text.with_table(text, ("mcp_servers", "later"), {"command": "x"})
    return jsonc.with_entry(text, (one.entries[0].path[0], "later"), {"x": 1})


def with_server(one: SettingsFile, value: Any) -> Any:
    if one.path.suffix == ".toml":
        return {**value, "mcp_servers": {**value.get("mcp_servers", {}), "later": {"command": "x"}}}
    first = one.entries[0].path[0]
    return {**value, first: {**value.get(first, {}), "later": {"x": 1}}}


def without_empty(value: Any) -> Any:
    """Return a value without objects that hold nothing: whether such a one stays is no matter here."""
    if not isinstance(value, dict):
        return value
    found = {name: without_empty(one) for name, one in value.items()}
    return {name: one for name, one in found.items() if one not in ({}, [])}


def comments_of(one: SettingsFile) -> list[str]:
    text = one.path.read_bytes().decode()
    if one.path.suffix == ".toml":
        return re.findall(r"# (?:mine|inline|b|odd|only|end)\b", text)
    return re.findall(r"// (?:a comment|\}|end)|/\* (?:one|\",) \*/", text)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "line 1 is not JSON"),
        ('{\n"a": nope}', "line 2 is not JSON"),
        ("[]", "the file is not an object"),
        ('{"mcpServers": 7}', "mcpServers is not an object"),
        ("[" * 100_000, "nested too deeply"),
        ('{"a": 1} x', "is not JSON"),
    ],
)
def test_what_is_no_settings_file_is_refused_and_stays(home: Path, text: str, said: str) -> None:
    (one,) = settings_files("cursor", COMMAND)
    one.path.parent.mkdir()
    one.path.write_text(text)

    with pytest.raises(PromptuaryError, match=said):
        planned("cursor", [one])
    assert one.path.read_text() == text


def test_the_hooks_of_another_installation_are_replaced_and_come_back(home: Path) -> None:
    before, now = (settings_files("codex", [path])[1] for path in ("/old/bin/promptuary", "/new/bin/promptuary"))
    now.path.parent.mkdir()
    now.path.write_text('{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "mine"}]}]}}\n')
    write("codex", planned("codex", [before]))
    text = now.path.read_text()
    shutil.rmtree(home / ".local")  # nothing is noted: it was another machine

    write("codex", planned("codex", [now]))
    stop = entries(now)["hooks"]["Stop"]
    assert [one["hooks"][0]["command"] for one in stop] == ["mine", "/new/bin/promptuary hook codex Stop"]
    undo("codex", planned_undo("codex", [now]))
    assert now.path.read_text() == text

    write("codex", planned("codex", [now]))
    now.path.write_text(now.path.read_text().replace('"mine"', '"other"'))
    undo("codex", planned_undo("codex", [now]))
    assert now.path.read_text() == text.replace('"mine"', '"other"')


def test_undo_takes_out_a_server_with_the_approvals_that_codex_gave_its_tools(home: Path) -> None:
    write("codex", planned("codex", settings_files("codex", COMMAND)))
    path = home / ".codex/config.toml"
    approved = '\n[mcp_servers.promptuary.tools.write_memory]\napproval_mode = "approve"\n'
    path.write_text(path.read_text() + approved)
    write("codex", planned("codex", files := settings_files("codex", MOVED)))
    assert path.read_text().endswith(approved)
    assert MOVED[0] in path.read_text()

    done = undo("codex", planned_undo("codex", files))

    assert [one.reason for one in done if one.reason] == []
    assert not path.exists(), "with approvals of a server that it does not know Codex would not start"


def test_a_link_is_followed_and_stays_one(home: Path) -> None:
    (one,) = settings_files("cursor", COMMAND)
    one.path.parent.mkdir()
    (home / "dotfiles.json").write_text("{}")
    one.path.symlink_to(home / "dotfiles.json")

    write("cursor", planned("cursor", [one]))
    assert one.path.is_symlink()
    assert "promptuary" in (home / "dotfiles.json").read_text()
    undo("cursor", planned_undo("cursor", [one]))
    assert one.path.is_symlink()
    assert (home / "dotfiles.json").read_text() == "{}"


def test_a_file_that_changed_since_it_was_read_is_not_replaced(home: Path) -> None:
    (one,) = settings_files("cursor", COMMAND)
    changes = planned("cursor", [one])
    one.path.parent.mkdir()
    one.path.write_text('{"new": 1}')

    with pytest.raises(PromptuaryError, match="changed meanwhile"):
        write("cursor", changes)
    assert one.path.read_text() == '{"new": 1}'
