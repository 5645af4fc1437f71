"""Settings of agents: changed as text and put back byte for byte, whatever they look like, also half-way."""

import json
import os
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptuary import durable
from promptuary.core.errors import PromptuaryError
from promptuary.hooks.install import jsonc
from promptuary.hooks.install.clients import SettingsFile, settings_files
from promptuary.hooks.install.installing import planned, undo, write

CLIENTS = ("claude-code", "codex", "gemini", "cursor", "zed", "vscode")
COMMAND = ["/usr/bin/promptuary"]


class KilledError(BaseException):
    """The process ended here."""


names = st.text(st.characters(codec="utf-8", exclude_characters='"\\/*', exclude_categories=("Cc", "Cs")), max_size=8)
plain = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | names,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=3),
    max_leaves=6,
)
blanks = st.sampled_from(
    ["", " ", "\n", "\n  ", "\t", " // a comment\n", " /* one */ ", "\n\n    // }\n    ", ' /* ", */']
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


tables = st.sampled_from(
    [
        "",
        "model = 'o5' # mine\n",
        "[tools]\nweb = true",
        '[mcp_servers.other]\ncommand = "x"\nargs = []\n\n',
        "# only\n",
    ]
)


@contextmanager
def homes(home: Path) -> Iterator[None]:
    """Let everything be in ``home``: Hypothesis has no fixture for each example."""
    before = dict(os.environ)
    for name in ("XDG_STATE_HOME", "XDG_CONFIG_HOME", "CLAUDE_CONFIG_DIR", "CODEX_HOME"):
        os.environ.pop(name, None)
    os.environ["HOME"] = str(home)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def text_for(data: st.DataObject, one: SettingsFile) -> str:
    if one.path.suffix == ".toml":
        return "\n".join(data.draw(st.lists(tables, max_size=3, unique=True)))
    return data.draw(settings_texts())


def snapshot(home: Path) -> dict[str, bytes | None]:
    found = [one for one in home.rglob("*") if ".local" not in one.parts]
    return {str(one.relative_to(home)): one.read_bytes() if one.is_file() else None for one in found}


def entries(one: SettingsFile) -> Any:
    text = one.path.read_bytes().decode()
    return tomllib.loads(text.replace("\r\n", "\n")) if one.path.suffix == ".toml" else jsonc.parsed(text).value


@pytest.mark.parametrize("client", CLIENTS)
@given(data=st.data())
def test_undo_gives_back_every_byte(tmp_path_factory: pytest.TempPathFactory, client: str, data: st.DataObject) -> None:
    home = tmp_path_factory.mktemp("home")
    with homes(home):
        files = settings_files(client, COMMAND)
        for one in files:
            if data.draw(st.booleans()):
                one.path.parent.mkdir(parents=True, exist_ok=True)
                one.path.write_bytes(text_for(data, one).encode())
        before = snapshot(home)
        old = {one.path: entries(one) if one.path.exists() else {} for one in files}

        write(client, planned(files))
        for one in files:
            assert kept(old[one.path], entries(one))
        assert planned(files) == []
        undo(client, files)

        assert snapshot(home) == before


def kept(old: Any, new: Any) -> bool:
    """Tell whether everything that was there is there, in its place."""
    if isinstance(old, dict):
        return isinstance(new, dict) and all(key in new and kept(value, new[key]) for key, value in old.items())
    if isinstance(old, list):
        return isinstance(new, list) and new[: len(old)] == old
    return bool(old == new)


@pytest.mark.parametrize("client", CLIENTS)
@given(data=st.data())
def test_undo_after_a_kill_half_way_gives_back_every_byte(
    tmp_path_factory: pytest.TempPathFactory, client: str, data: st.DataObject
) -> None:
    home = tmp_path_factory.mktemp("home")
    killed_at = data.draw(st.integers(0, 4))
    left = [killed_at]

    def dying(*arguments: Any, **options: Any) -> None:
        if not left[0]:
            raise KilledError
        left[0] -= 1
        replace(*arguments, **options)

    replace = durable.replace
    with homes(home), pytest.MonkeyPatch.context() as patch:
        files = settings_files(client, COMMAND)
        for one in files:
            if data.draw(st.booleans()):
                one.path.parent.mkdir(parents=True, exist_ok=True)
                one.path.write_bytes(text_for(data, one).encode())
        before = snapshot(home)
        patch.setattr(durable, "replace", dying)
        with suppress(KilledError):
            write(client, planned(files))
        if data.draw(st.booleans()):  # it is tried again, and dies again or not
            left[0] = data.draw(st.integers(0, 4))
            with suppress(KilledError):
                write(client, planned(files))
        left[0] = data.draw(st.integers(0, 2))
        with suppress(KilledError):
            undo(client, files)
        left[0] = 99
        undo(client, files)
        after = snapshot(home)
    # Folders that were made for a file that was never written may stay.
    assert {name: held for name, held in after.items() if held is not None or name in before} == before


def test_a_process_that_is_killed_while_it_writes_leaves_whole_files(tmp_path: Path) -> None:
    (tmp_path / ".claude").mkdir()
    texts = {".claude.json": '{"a": 1}', ".claude/settings.json": "{\n  // mine\n}\n"}
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    program = (
        "import os, sys; from promptuary import durable; real = durable.replace; count = [0]\n"
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


@given(data=st.data())
def test_what_was_added_meanwhile_stays_when_it_is_undone(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    home = tmp_path_factory.mktemp("home")
    with homes(home):
        (one,) = settings_files("cursor", COMMAND)
        one.path.parent.mkdir(parents=True)
        one.path.write_bytes(data.draw(settings_texts()).encode())
        old = entries(one)
        write("cursor", planned([one]))
        one.path.write_bytes(
            jsonc.with_entry(one.path.read_bytes().decode(), ("mcpServers", "later"), {"x": 1}).encode()
        )
        done = undo("cursor", [one])

        assert [each.how for each in done] == ["taken out"]
        assert entries(one) == {**old, "mcpServers": {**old.get("mcpServers", {}), "later": {"x": 1}}}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "line 1 is not JSON"),
        ('{\n"a": nope}', "line 2 is not JSON"),
        ("[]", "the file is no object"),
        ('{"mcpServers": 7}', "mcpServers is no object"),
        ("[" * 100_000, "nested too deeply"),
        ('{"a": 1} x', "is not JSON"),
    ],
)
def test_what_is_no_settings_file_is_refused_and_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, said: str
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (one,) = settings_files("cursor", COMMAND)
    one.path.parent.mkdir()
    one.path.write_text(text)

    with pytest.raises(PromptuaryError, match=said):
        planned([one])
    assert one.path.read_text() == text


def test_the_hooks_of_another_installation_are_replaced_and_come_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    before, now = (settings_files("codex", [path])[1] for path in ("/old/bin/promptuary", "/new/bin/promptuary"))
    text = before.written('{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "mine"}]}]}}\n')
    now.path.parent.mkdir()
    now.path.write_text(text)

    write("codex", planned([now]))
    stop = entries(now)["hooks"]["Stop"]
    assert [one["hooks"][0]["command"] for one in stop] == ["mine", "/new/bin/promptuary hook codex Stop"]
    undo("codex", [now])
    assert now.path.read_text() == text


def test_a_link_is_followed_and_stays_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (one,) = settings_files("cursor", COMMAND)
    one.path.parent.mkdir()
    (tmp_path / "dotfiles.json").write_text("{}")
    one.path.symlink_to(tmp_path / "dotfiles.json")

    write("cursor", planned([one]))
    assert one.path.is_symlink()
    assert "promptuary" in (tmp_path / "dotfiles.json").read_text()
    undo("cursor", [one])
    assert one.path.is_symlink()
    assert (tmp_path / "dotfiles.json").read_text() == "{}"


def test_a_table_of_codex_that_is_somebody_elses_is_not_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    files = settings_files("codex", COMMAND)
    files[0].path.parent.mkdir()
    files[0].path.write_text('[mcp_servers.promptuary]\ncommand = "other"\n')

    with pytest.raises(PromptuaryError, match="another"):
        planned(files)


def test_a_file_that_changed_since_it_was_read_is_not_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (one,) = settings_files("cursor", COMMAND)
    changes = planned([one])
    one.path.parent.mkdir()
    one.path.write_text('{"new": 1}')

    with pytest.raises(PromptuaryError, match="changed meanwhile"):
        write("cursor", changes)
    assert one.path.read_text() == '{"new": 1}'
