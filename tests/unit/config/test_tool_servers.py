"""The tables of MCP servers: what they may say, and what a file of another client becomes."""

import tomllib
from pathlib import Path

import pytest

from promptuary.base.errors import ConfigError
from promptuary.base.references import KEYWORDS, KINDS
from promptuary.config.settings import load
from promptuary.config.tool_servers import NamedServer, named_servers, servers_of_json, toml_table
from tests.conftest import Files


def test_a_server_is_a_program_or_an_address() -> None:
    docs, web = named_servers(
        {"docs": {"command": "uvx", "args": ["docs"], "tools": ["find"]}, "web": {"url": "https://web.example/mcp"}},
        "mcp",
    )

    assert (docs.command, docs.args, docs.tools) == ("uvx", ("docs",), ("find",))
    assert (web.url, web.tools) == ("https://web.example/mcp", ("*",))


@pytest.mark.parametrize("name", sorted(KINDS | KEYWORDS))
def test_no_server_is_called_like_a_kind_of_reference(name: str) -> None:
    with pytest.raises(ConfigError, match=f"cannot be called {name}"):
        named_servers({name: {"command": "x"}}, "mcp")


@pytest.mark.parametrize(
    ("tables", "message"),
    [
        ("docs", "must be a table of servers"),
        ({"docs": "x"}, "must be a table with a command or a url"),
        ({"Docs": {"command": "x"}}, "cannot be the name of a server"),
        ({"a__b": {"command": "x"}}, "cannot be the name of a server"),
        ({"d" * 33: {"command": "x"}}, "cannot be the name of a server"),
        ({"docs": {}}, "needs either command"),
        ({"docs": {"command": "x", "url": "https://a.example"}}, "needs either command"),
        ({"docs": {"url": "ftp://a.example"}}, "must begin with https://"),
        ({"docs": {"url": "https://a.example", "args": ["x"]}}, "args has an effect only with a command"),
        ({"docs": {"command": "x", "headers": {"A": "b"}}}, "headers has an effect only with a url"),
        ({"docs": {"command": "x", "comand": "y"}}, "did you mean command?"),
        ({"docs": {"command": "x", "cwd": "work"}}, "must be a full path"),
        ({"docs": {"command": "x", "args": "-v"}}, "must be a list"),
        ({"docs": {"command": "x", "env": {"A=B": "c"}}}, "cannot be a name there"),
        ({"docs": {"url": "https://a.example", "headers": {"A": "b\r\nC: d"}}}, "text of one line"),
        ({"docs": {"command": "x", "timeout": 0}}, "timeout must be between"),
        ({f"s{number}": {"command": "x"} for number in range(33)}, "there may be 32"),
    ],
)
def test_a_slip_in_a_table_is_answered_with_what_to_do(tables: object, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        named_servers(tables, "mcp")


def test_a_workspace_cannot_name_a_server(files: Files) -> None:
    folder = files({"promptuary.toml": '[mcp.docs]\ncommand = "sh"\n', ".promptuary/config.toml": "[mcp]\n"})

    settings = load(folder)

    assert settings.mcp == ()
    assert [note.partition(":")[0] for note in settings.warnings] == [
        "mcp in promptuary.toml is ignored",
        "mcp in .promptuary/config.toml is ignored",
    ]


def test_what_depends_on_the_environment_is_filled_in_when_the_server_is_started() -> None:
    (server,) = named_servers(
        {"docs": {"command": "x", "args": ["${workspaceFolder}/a"], "env": {"KEY": "${TOKEN}", "B": "${C:-none}"}}},
        "mcp",
    )

    filled = server.filled_in({"TOKEN": "secret"}, "/w")

    assert server.variables == ("TOKEN", "C")
    assert (filled.args, filled.env) == (("/w/a",), {"KEY": "secret", "B": "none"})
    with pytest.raises(ConfigError, match="the variable TOKEN"):
        server.filled_in({}, "/w")


def test_no_key_is_shown_with_a_server() -> None:
    (server,) = named_servers({"docs": {"command": "x", "env": {"KEY": "sk-nonce"}}}, "mcp")

    assert "sk-nonce" not in repr(server)


def test_the_file_of_another_client_keeps_its_variables_on_the_way_into_the_configuration(tmp_path: Path) -> None:
    text = """{"mcpServers": {
        "My Docs": {"type": "stdio", "command": "npx", "args": ["-y", "docs"], "env": {"KEY": "${TOKEN}"}},
        "web": {"type": "http", "url": "https://web.example/mcp", "headers": {"Authorization": "Bearer ${TOKEN}"}}}}"""

    found = servers_of_json(text, ".mcp.json")
    own = tmp_path / "own.toml"
    own.write_text("".join(map(toml_table, found)))

    assert [one.name for one in found] == ["my-docs", "web"]
    assert '"${TOKEN}"' in own.read_text()
    assert read_back(own) == found


def read_back(own: Path) -> tuple[NamedServer, ...]:
    return named_servers(tomllib.loads(own.read_text())["mcp"], "mcp")


@pytest.mark.parametrize("text", ["", "[]", "{", '{"mcpServers": []}', '{"mcpServers": {"a": 5}}', "[" * 100_000])
def test_what_is_no_such_file_is_said(text: str) -> None:
    with pytest.raises(ConfigError):
        servers_of_json(text, ".mcp.json")
