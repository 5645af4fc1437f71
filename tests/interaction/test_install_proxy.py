"""``promptuary install --proxy``: what is written for each client, and that taking it back leaves every byte."""

import json
import os
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest

from promptuary.workspace.programs.agents.token import own_token
from tests.interaction.conftest import Run

yaml = pytest.importorskip("yaml")
CLIENTS = ("claude-code", "codex", "opencode", "continue")
OWN = {
    "claude-code": ".claude/settings.local.json",
    "opencode": ".opencode/opencode.json",
    "continue": ".continue/models/promptuary.yaml",
}
USERS = {
    "claude-code": ".claude/settings.json",
    "codex": ".codex/promptuary.config.toml",
    "opencode": ".config/opencode/opencode.json",
    "continue": ".continue/models/promptuary.yaml",
}


@pytest.fixture
def home() -> Path:
    return Path(os.environ["HOME"])


@pytest.fixture
def project(run: Run, tmp_path: Path) -> Path:
    """Return the folder in which ``run`` runs."""
    del run
    return tmp_path


@pytest.fixture
def token(home: Path) -> str:
    del home
    return own_token("serve")[0]


def snapshot(*folders: Path) -> dict[str, tuple[str, bytes]]:
    """Return every file and link in the folders but our own, with its mode."""
    found = [one for folder in folders for one in folder.rglob("*") if ".local" not in one.parts]
    return {
        str(one): (oct(one.lstat().st_mode), bytes(one.readlink()) if one.is_symlink() else one.read_bytes())
        for one in found
        if one.is_symlink() or one.is_file()
    }


def parsed(path: Path) -> Any:
    text = path.read_text(encoding="utf-8")
    return {".toml": tomllib.loads, ".yaml": yaml.safe_load, ".json": json.loads}[path.suffix](text)


def settings_path(client: str, home: Path, project: Path) -> Path:
    name = f"promptuary-{project.name}.config.toml"
    return project / OWN[client] if client in OWN else home / ".codex" / name


def address(client: str, found: Any) -> str:
    match client:
        case "claude-code":
            return str(found["env"]["ANTHROPIC_BASE_URL"])
        case "codex":
            return str(found["model_providers"][found["model_provider"]]["base_url"])
        case "opencode":
            return str(found["provider"]["anthropic"]["options"]["baseURL"])
        case _:
            return str(found["models"][0]["apiBase"])


@pytest.mark.parametrize(
    "asked", [(client, *mode) for client in CLIENTS for mode in ((), ("--server-key",))], ids=" ".join
)
def test_a_project_gets_its_own_address_once_and_is_as_it_was_after_undo(
    run: Run, home: Path, project: Path, token: str, asked: tuple[str, ...]
) -> None:
    client, *mode = asked
    before = snapshot(home, project)
    code, shown, _ = run("install", client, "--proxy", *mode, "--dry-run")
    assert (code, snapshot(home, project)) == (0, before)
    assert f"/w/{project.name}" in shown
    assert token not in shown
    code, _, told = run("install", client, "--proxy", *mode)
    assert (code, snapshot(home, project)) == (1, before)
    assert "--yes" in told

    assert run("install", client, "--proxy", *mode, "--yes")[0] == 0
    written = snapshot(home, project)
    path = settings_path(client, home, project)
    assert address(client, parsed(path)).startswith(f"http://127.0.0.1:8766/w/{project.name}")
    assert (token in path.read_text(encoding="utf-8")) is (client == "claude-code" and not mode)
    assert path.stat().st_mode & 0o077 == 0
    code, shown, told = run("install", client, "--proxy", *mode, "--yes")
    assert (code, shown, snapshot(home, project)) == (0, "", written)
    assert "already" in told

    code, shown, _ = run("install", client, "--proxy", *mode, "--undo", "--yes")
    assert (code, snapshot(home, project)) == (0, before)
    assert token not in shown
    assert "is not in the settings" in run("install", client, "--proxy", "--undo", "--yes")[2]


def untracked(project: Path) -> list[str]:
    command = ["git", "-C", str(project), "ls-files", "--others", "--exclude-standard"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()


@pytest.mark.parametrize("client", OWN)
def test_git_does_not_see_what_is_written_into_a_project(
    run: Run, home: Path, project: Path, token: str, client: str
) -> None:
    (project / ".git").rmdir()
    subprocess.run(["git", "init", "-q", str(project)], check=True)
    before = untracked(project)
    assert token
    assert run("install", client, "--proxy", "--yes")[0] == 0
    assert (project / OWN[client]).exists()
    assert untracked(project) == before

    ignoring = (project / OWN[client]).with_name(".gitignore")
    ignoring.write_text(f"{ignoring.read_text(encoding='utf-8')}mine\n", encoding="utf-8")
    assert run("install", client, "--proxy", "--undo", "--yes")[0] == 0
    assert ignoring.read_text(encoding="utf-8") == "mine\n"


def test_a_list_of_ignored_files_that_was_there_is_not_hidden(run: Run, project: Path, token: str) -> None:
    (project / ".git").rmdir()
    subprocess.run(["git", "init", "-q", str(project)], check=True)
    (project / ".claude").mkdir()
    (project / ".claude/.gitignore").write_text("mine\n", encoding="utf-8")
    before = untracked(project)
    assert token
    assert run("install", "claude-code", "--proxy", "--yes")[0] == 0
    assert (project / ".claude/.gitignore").read_text(encoding="utf-8") == "mine\n/settings.local.json\n"
    assert untracked(project) == before


REMOTE = "pt_0123456789ab_of_another_machine"


@pytest.mark.parametrize("mode", [(), ("--server-key",), ("--everywhere",)], ids=" ".join)
@pytest.mark.parametrize("client", CLIENTS)
def test_the_token_of_this_machine_goes_to_no_other(
    run: Run, token: str, client: str, mode: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    home, project = Path(os.environ["HOME"]), Path.cwd()
    before = snapshot(home, project)
    words = ("install", client, "--proxy", *mode, "--url", "https://ai.example.org", "--yes")
    code, shown, told = run(*words)
    assert (code, shown, snapshot(home, project)) == (2, "", before)
    assert "promptuary token create" in told
    assert "PROMPTUARY_TOKEN=" in told

    monkeypatch.setenv("PROMPTUARY_TOKEN", REMOTE)
    code, shown, told = run(*words)
    assert code == 0
    written = b"".join(data for name, (_, data) in snapshot(home, project).items() if name not in before).decode()
    for text in (written, shown, told):
        assert token not in text
        assert "tokens/serve" not in text
    assert REMOTE not in shown
    is_inside = client == "claude-code" and "--server-key" not in mode
    assert (REMOTE in written) is is_inside
    assert ("PROMPTUARY_TOKEN" in written) is ("PROMPTUARY_TOKEN=pt_" in told) is not is_inside
    monkeypatch.delenv("PROMPTUARY_TOKEN")
    assert run(*words, "--undo")[0] == 0
    assert snapshot(home, project) == before


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1.example.org",
        "http://localhost.example.org:8766",
        "http://0.0.0.0:8766",
        "https://[2001:db8::1]",
        "https://[::::1]",
    ],
)
def test_only_loopback_is_this_machine(run: Run, token: str, url: str) -> None:
    assert token
    code, _, told = run("install", "claude-code", "--proxy", "--url", url, "--yes")
    assert code == 2
    assert "needs a token of its own" in told


def test_a_token_in_the_environment_comes_before_that_of_this_machine(
    run: Run, project: Path, token: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PROMPTUARY_TOKEN", REMOTE)
    for url in ("http://localhost:9000", "http://[::1]:9000", "http://127.0.0.1:8766"):
        assert run("install", "claude-code", "--proxy", "--url", url, "--yes")[0] == 0
        text = (project / OWN["claude-code"]).read_text(encoding="utf-8")
        assert REMOTE in text
        assert token not in text
    monkeypatch.setenv("PROMPTUARY_TOKEN", "pt_0123456789ab_x\nX-Other: 1")
    code, _, told = run("install", "claude-code", "--proxy", "--yes")
    assert code == 2
    assert "is not a token" in told


def test_codex_says_when_the_name_of_a_folder_is_taken(
    run: Run, home: Path, project: Path, token: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert token
    for parent in ("a", "b"):
        (project / parent / "app" / ".git").mkdir(parents=True)
    monkeypatch.chdir(project / "a" / "app")
    for _ in range(2):
        assert run("install", "codex", "--proxy", "--yes")[0] == 0
    written = snapshot(home)
    monkeypatch.chdir(project / "b" / "app")
    for mode in ((), ("--server-key",)):
        code, _, told = run("install", "codex", "--proxy", *mode, "--yes")
        assert (code, snapshot(home)) == (2, written)
        assert "another folder of this name" in told
        assert "--name NAME" in told
    assert run("install", "codex", "--proxy", "--name", "app2", "--yes")[0] == 0
    assert run("install", "codex", "--proxy", "--name", "app2", "--undo", "--yes")[0] == 0
    assert snapshot(home) == written


@pytest.mark.parametrize("client", CLIENTS)
def test_everywhere_writes_the_bare_address_into_the_persons_settings(
    run: Run, home: Path, project: Path, client: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = snapshot(home, project)
    monkeypatch.setenv("PROMPTUARY_TOKEN", REMOTE)
    assert run("install", client, "--proxy", "--everywhere", "--url", "https://box.example", "--yes")[0] == 0
    assert address(client, parsed(home / USERS[client])).removesuffix("/").removesuffix("/v1") == "https://box.example"
    assert {name for name in snapshot(home, project) if name not in before} == {str(home / USERS[client])}

    assert run("install", client, "--proxy", "--everywhere", "--undo", "--yes")[0] == 0
    assert snapshot(home, project) == before


THEIRS = {
    "claude-code": '{\n\t// mine\n\t"env": {"FOO": "bar"}, "model": "opus",\n}\n',
    "opencode": '{"provider": {"openai": {"options": {"timeout": 5}, "models": {}}}, "theme": "x"}',
}


@pytest.mark.parametrize("client", THEIRS)
def test_what_else_is_in_the_settings_stays_to_the_byte(
    run: Run, home: Path, project: Path, token: str, client: str
) -> None:
    path = project / OWN[client]
    path.parent.mkdir()
    path.write_text(THEIRS[client], encoding="utf-8")
    (path.parent / ".gitignore").write_bytes(b"node_modules\n.gitignore")  # without an end, as opencode writes it
    before = snapshot(home, project)

    assert token
    assert run("install", client, "--proxy", "--yes")[0] == 0
    text = path.read_text(encoding="utf-8")
    for part in ("// mine", '"FOO": "bar"', '"model": "opus"') if client == "claude-code" else ('"timeout": 5',):
        assert part in text
    assert "127.0.0.1:8766/w/" in text

    (path.parent / ".gitignore").write_bytes((path.parent / ".gitignore").read_bytes() + b"more\n")
    assert run("install", client, "--proxy", "--undo", "--yes")[0] == 0
    assert (path.parent / ".gitignore").read_bytes() == b"node_modules\n.gitignore\nmore\n"
    (path.parent / ".gitignore").write_bytes(b"node_modules\n.gitignore")
    assert snapshot(home, project) == before


@pytest.mark.parametrize("client", THEIRS)
def test_a_link_in_the_home_is_followed_and_one_in_a_project_is_refused(
    run: Run, home: Path, project: Path, token: str, client: str
) -> None:
    kept = home / "dotfiles.json"
    kept.parent.mkdir(exist_ok=True)
    kept.write_text(THEIRS[client], encoding="utf-8")
    for path in (home / USERS[client], project / OWN[client]):
        path.parent.mkdir(parents=True)
        path.symlink_to(kept)
    before = snapshot(home, project)

    assert token
    assert run("install", client, "--proxy", "--everywhere", "--yes")[0] == 0
    assert "127.0.0.1:8766" in kept.read_text(encoding="utf-8")
    assert (home / USERS[client]).is_symlink()
    assert run("install", client, "--proxy", "--everywhere", "--undo", "--yes")[0] == 0
    assert snapshot(home, project) == before
    code, _, told = run("install", client, "--proxy", "--yes")
    assert (code, snapshot(home, project)) == (2, before)
    assert "is a link, or in one" in told


@pytest.mark.parametrize("client", CLIENTS)
def test_an_address_that_the_person_wrote_is_kept_unless_forced_and_comes_back(
    run: Run, home: Path, project: Path, token: str, client: str
) -> None:
    path = settings_path(client, home, project)
    path.parent.mkdir(parents=True)
    mine = {
        "claude-code": '{"env": {"ANTHROPIC_BASE_URL": "https://mine.example"}}',
        "opencode": '{"provider": {"anthropic": {"options": {"baseURL": "https://mine.example"}}}}',
    }
    path.write_text(mine.get(client, "# mine\n"), encoding="utf-8")
    before = snapshot(home, project)

    assert token
    code, shown, told = run("install", client, "--proxy", "--yes")
    assert (code, shown, snapshot(home, project)) == (2, "", before)
    assert "was not written by install; --force replaces it" in told
    assert run("install", client, "--proxy", "--undo", "--yes")[0] == 1
    assert snapshot(home, project) == before

    assert run("install", client, "--proxy", "--yes", "--force")[0] == 0
    assert "mine" not in path.read_text(encoding="utf-8")
    assert run("install", client, "--proxy", "--undo", "--yes")[0] == 0
    assert snapshot(home, project) == before


@pytest.mark.parametrize("client", CLIENTS)
def test_a_new_address_replaces_the_old_one_and_undo_knows_the_first_state(
    run: Run, home: Path, project: Path, token: str, client: str
) -> None:
    before = snapshot(home, project)
    assert token
    for url in ("http://127.0.0.1:9001", "http://127.0.0.1:9002"):
        assert run("install", client, "--proxy", "--url", url, "--yes")[0] == 0
        assert address(client, parsed(settings_path(client, home, project))).startswith(f"{url}/w/")
    assert run("install", client, "--proxy", "--server-key", "--yes")[0] == 0
    assert token not in settings_path(client, home, project).read_text(encoding="utf-8")
    assert run("install", client, "--proxy", "--undo", "--yes")[0] == 0
    assert snapshot(home, project) == before


def test_projects_and_the_other_installation_are_apart(
    run: Run, home: Path, project: Path, token: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = project / "other"
    (other / ".git").mkdir(parents=True)
    assert token
    assert run("install", "claude-code", "--yes")[0] == 0
    hooks = snapshot(home)
    assert run("install", "claude-code", "--proxy", "--yes")[0] == 0
    first = snapshot(project)
    monkeypatch.chdir(other)
    assert run("install", "claude-code", "--proxy", "--name", "second", "--yes")[0] == 0
    assert address("claude-code", parsed(other / OWN["claude-code"])).endswith("/w/second")
    assert run("install", "claude-code", "--proxy", "--undo", "--yes")[0] == 0

    assert snapshot(project) == first
    assert snapshot(home) == hooks
    assert run("install", "claude-code", "--undo", "--yes")[0] == 0
    assert snapshot(project) == first


@pytest.mark.parametrize("text", ["{", "[]", '{"env": []}', "\x00"])
def test_a_broken_file_is_refused_and_stays(run: Run, home: Path, project: Path, token: str, text: str) -> None:
    path = project / OWN["claude-code"]
    path.parent.mkdir()
    path.write_text(text, encoding="utf-8")
    before = snapshot(home, project)

    assert token
    code, _, told = run("install", "claude-code", "--proxy", "--yes")
    assert (code, snapshot(home, project)) == (2, before)
    assert "settings.local.json" in told


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("claude-code", "--proxy"), "start promptuary serve once"),
        (("gemini", "--proxy"), "start promptuary serve once"),
        (("opencode",), "opencode needs --proxy"),
        (("codex", "--server-key"), "--server-key needs --proxy"),
        (("codex", "--proxy", "--no-hooks"), "--no-hooks is not for --proxy"),
    ],
)
def test_what_cannot_be_done_is_said(run: Run, home: Path, words: tuple[str, ...], told: str) -> None:
    del home
    code, shown, said = run("install", *words, "--yes")

    assert (code, shown) == (2, "")
    assert told in said


def test_a_client_whose_settings_are_not_known_and_the_home_folder_are_refused(
    run: Run, home: Path, token: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert token
    code, _, told = run("install", "gemini", "--proxy", "--yes")
    assert code == 2
    assert "promptuary serve --print-config" in told
    monkeypatch.chdir(home)
    code, _, told = run("install", "codex", "--proxy", "--yes", "-w", str(home))
    assert code == 2
    assert "--everywhere" in told
