"""The settings that point clients at the server: what they say, and that no text contains the token."""

import json
import os
import re
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest

from promptuary.base.errors import PromptuaryError
from promptuary.server.client_settings import (
    CLIENTS,
    INSTALLABLE,
    settings_files_for,
    settings_for,
    workspace_name,
)

yaml = pytest.importorskip("yaml")
BASE = "http://127.0.0.1:8766/w/app"
PLACE = Path("/home/a b/tokens/serve")
MODES = [(client, own) for client in CLIENTS for own in (True, False) if (client, own) != ("open-webui", True)]


@pytest.mark.parametrize(("client", "own_key"), MODES)
@pytest.mark.parametrize("place", [PLACE, None])
def test_each_client_gets_the_address_with_the_path_that_it_expects(
    client: str, own_key: bool, place: Path | None
) -> None:
    found = settings_for(client, f"{BASE}/", place, own_key)
    addresses = set(re.findall(r"http://[^\s\"',]+", found.text))

    bare, versioned = {BASE}, {f"{BASE}/v1"}
    expected = {
        "claude-code": bare,
        "anthropic": bare,
        "continue": {f"{BASE}/v1/"},
        "aider": bare | versioned,
    }
    assert addresses == expected.get(client, versioned)
    assert found.file
    names = "serve" if place else "PROMPTUARY_TOKEN"
    assert names in found.text + " ".join(found.notes)


def shell_variables(text: str, folder: Path, token: str) -> dict[str, str]:
    """Run lines of a shell; return the variables that it has afterwards."""
    environment = {"HOME": str(folder), "PATH": os.environ["PATH"], "PROMPTUARY_TOKEN": token}
    ran = subprocess.run(["sh", "-c", f"{text}\nenv"], env=environment, capture_output=True, text=True, check=True)
    return dict(line.split("=", 1) for line in ran.stdout.splitlines())


@pytest.mark.parametrize("from_file", [True, False])
def test_what_is_for_a_shell_gives_the_client_our_token(tmp_path: Path, from_file: bool) -> None:
    place = tmp_path / "a folder" / "serve"
    place.parent.mkdir()
    place.write_text("pt_a_b\n", encoding="utf-8")
    given = place if from_file else None

    def variables(client: str, *, own_key: bool) -> dict[str, str]:
        return shell_variables(settings_for(client, BASE, given, own_key).text, tmp_path, "pt_a_b")

    claude = variables("claude-code", own_key=True)
    assert claude["ANTHROPIC_CUSTOM_HEADERS"] == "X-Promptuary-Token: pt_a_b"
    assert claude["ANTHROPIC_BASE_URL"] == BASE
    assert variables("open-webui", own_key=False)["OPENAI_API_KEY"] == "pt_a_b"
    assert variables("aider", own_key=False)["ANTHROPIC_API_KEY"] == "pt_a_b"

    assert "OPENAI_API_KEY" not in variables("aider", own_key=True)
    (settings,) = yaml.safe_load((tmp_path / ".aider.model.settings.yml").read_text(encoding="utf-8"))
    assert settings["extra_params"]["extra_headers"] == {"X-Promptuary-Token": "pt_a_b"}
    helper = json.loads(settings_for("claude-code", BASE, given, own_key=False).text)["apiKeyHelper"]
    assert shell_variables(f"TOKEN=$({helper})\nexport TOKEN", tmp_path, "pt_a_b")["TOKEN"] == "pt_a_b"


def test_what_is_for_aider_adds_to_its_file_which_nobody_else_can_read_by_then(tmp_path: Path) -> None:
    file = tmp_path / ".aider.model.settings.yml"
    file.write_bytes(b"- name: mine\n  edit_format: diff")
    file.chmod(0o644)
    text = settings_for("aider", BASE, None, own_key=True).text
    shell_variables(text, tmp_path, "pt_a_b")

    mine, ours = yaml.safe_load(file.read_text(encoding="utf-8"))
    assert mine == {"name": "mine", "edit_format": "diff"}
    assert ours["extra_params"]["extra_headers"] == {"X-Promptuary-Token": "pt_a_b"}
    assert file.stat().st_mode & 0o777 == 0o600
    assert text.index("chmod 600") < text.index("cat >>")


@pytest.mark.parametrize("own_key", [True, False])
def test_codex_reads_the_token_from_its_environment_or_a_command(own_key: bool) -> None:
    found = tomllib.loads(settings_for("codex", BASE, PLACE, own_key).text)
    provider = found["model_providers"][found["model_provider"]]

    assert (provider["base_url"], provider["wire_api"]) == (f"{BASE}/v1", "responses")
    if own_key:
        assert provider["env_http_headers"] == {"X-Promptuary-Token": "PROMPTUARY_TOKEN"}
        assert provider["env_key"] == "OPENAI_API_KEY"
    else:
        assert provider["auth"] == {"command": "cat", "args": [str(PLACE)]}
        assert "env_key" not in provider


@pytest.mark.parametrize("own_key", [True, False])
def test_opencode_and_continue_read_the_token_by_their_own_means(own_key: bool) -> None:
    for provider in json.loads(settings_for("opencode", BASE, PLACE, own_key).text)["provider"].values():
        options = provider["options"]
        assert (options["headers"]["X-Promptuary-Token"] if own_key else options["apiKey"]) == f"{{file:{PLACE}}}"
        assert ("apiKey" in options) is not own_key
    for model in yaml.safe_load(settings_for("continue", BASE, PLACE, own_key).text)["models"]:
        token = model["requestOptions"]["headers"]["X-Promptuary-Token"] if own_key else model["apiKey"]
        assert token == "${{ secrets.PROMPTUARY_TOKEN }}"
        assert ("requestOptions" in model) is own_key


@pytest.mark.parametrize("client", ["openai", "anthropic"])
@pytest.mark.parametrize("own_key", [True, False])
def test_the_lines_for_a_program_make_a_client(
    client: str, own_key: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(f"{client.upper()}_API_KEY", "own")
    place = tmp_path / "serve"
    place.write_text("pt_a_b\n", encoding="utf-8")
    made: dict[str, Any] = {}
    exec(settings_for(client, BASE, place, own_key).text, made)

    assert str(made["client"].base_url).rstrip("/") == (f"{BASE}/v1" if client == "openai" else BASE)
    assert made["client"].api_key == ("own" if own_key else "pt_a_b")
    assert made["client"].default_headers.get("X-Promptuary-Token") == ("pt_a_b" if own_key else None)


def test_what_cannot_work_is_refused_with_what_to_do() -> None:
    for client, url, own_key, told in (
        ("open-webui", BASE, True, "--server-key"),
        ("emacs", BASE, True, "there are: claude-code"),
        ("codex", "127.0.0.1:8766", True, "not an address such as http://127.0.0.1"),
        ("codex", 'http://h"\n', True, "not an address"),
        ("codex", f"{BASE}/v1", True, "without /v1"),
    ):
        with pytest.raises(PromptuaryError, match=told):
            settings_for(client, url, PLACE, own_key)
    with pytest.raises(PromptuaryError, match="--print-config"):
        settings_files_for("aider", BASE, PLACE, "pt_a_b", own_key=True, project=None)


@pytest.mark.parametrize("client", INSTALLABLE)
@pytest.mark.parametrize("own_key", [True, False])
def test_only_a_file_that_git_ignores_contains_the_token(client: str, own_key: bool, tmp_path: Path) -> None:
    found = settings_files_for(client, BASE, PLACE, "pt_a_b", own_key=own_key, project=tmp_path)
    secret = [one.path for one in found if any("pt_a_b" in str(entry.value) for entry in one.entries)]

    assert secret == ([tmp_path / ".claude/settings.local.json"] if client == "claude-code" and own_key else [])
    inside = [one for one in found if one.path.is_relative_to(tmp_path)]
    ignored = {(one.path.parent, entry.value) for one in inside for entry in one.entries if "line" in entry.kind}
    assert {(one.path.parent, f"/{one.path.name}") for one in inside} == ignored
    assert client == "codex" or inside


def test_the_name_of_a_workspace_is_one_part_of_an_address() -> None:
    for name in ("app", "my app", "über", "a/b", "..", "-", "a.b_c-d"):
        assert re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9._-]*", workspace_name(Path("/x") / name)), name
