"""A workspace whose state is in PostgreSQL: who may say so, which tenant it has, and its backups."""

from pathlib import Path

import pytest

from promptuary.base.errors import ConfigError, PromptuaryError
from promptuary.blocking import Promptuary
from tests.conftest import Files


def words(folder: Path) -> list[str]:
    with Promptuary.open(folder, exact=True, embedder="none") as opened:
        return [item.content for item in opened.threads.history(thread="t")]


def say(folder: Path, text: str) -> None:
    with Promptuary.open(folder, exact=True, embedder="none") as opened:
        turn = opened.threads.prepare(text, thread="t")
        opened.threads.finish(turn, f"You said {text}.")


@pytest.fixture
def served(postgres: str, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("PROMPTUARY_DATABASE", postgres)
    return postgres


def test_a_clone_names_neither_the_database_nor_the_tenant(files: Files, postgres: str) -> None:
    folder = files({"promptuary.toml": f'database = "{postgres}"\ntenant = "team"\n'})
    with Promptuary.open(folder, exact=True, embedder="none") as opened:
        assert (opened.settings.database, opened.settings.tenant) == ("", "")
        assert sum("is ignored: a workspace cannot set it" in note for note in opened.settings.warnings) == 2


def test_a_password_in_the_address_is_refused_without_showing_it(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for address in ("postgresql://ada:sesame@host/db", "postgres://host/db?password=sesame"):
        monkeypatch.setenv("PROMPTUARY_DATABASE", address)
        with pytest.raises(ConfigError, match="PGPASSWORD") as caught:
            Promptuary.open(workspace, exact=True).close()
        assert "sesame" not in str(caught.value)


@pytest.mark.usefixtures("served")
def test_without_a_name_each_folder_has_a_tenant_of_its_own_and_no_file(tmp_path: Path) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    for folder in (one, other):
        folder.mkdir()
    assert words(one) == []
    say(one, "hello")

    assert words(one) == ["hello", "You said hello."]
    assert words(other) == []
    assert not list(one.rglob("state.db"))


@pytest.mark.usefixtures("served")
def test_folders_that_share_a_name_on_two_machines_share_what_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PROMPTUARY_TENANT", f"team {tmp_path}")
    one, other = tmp_path / "one", tmp_path / "other"
    for folder in (one, other):
        folder.mkdir()
    say(one, "hello")
    with pytest.raises(ConfigError, match=r"is that of .*one on this machine"):
        words(other)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "another machine"))
    assert words(other) == ["hello", "You said hello."]

    monkeypatch.delenv("XDG_STATE_HOME")
    monkeypatch.setenv("PROMPTUARY_TENANT", "another")
    with pytest.raises(ConfigError, match="is bound to the tenant 'team"):
        words(one)
    monkeypatch.delenv("PROMPTUARY_TENANT")
    assert words(one) == ["hello", "You said hello."]


def test_a_backup_of_either_is_restored_into_the_other(
    tmp_path: Path, postgres: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "one"
    folder.mkdir()
    say(folder, "in a file")
    with Promptuary.open(folder, exact=True) as opened:
        opened.backup(tmp_path / "file.zip")
    monkeypatch.setenv("PROMPTUARY_DATABASE", postgres)
    say(folder, "on a server")
    with Promptuary.open(folder, exact=True) as opened:
        opened.backup(tmp_path / "server.zip")
        assert not opened.restore(tmp_path / "file.zip").done
        assert opened.restore(tmp_path / "file.zip", force=True).done
        assert [item.content for item in opened.threads.history(thread="t")] == ["in a file", "You said in a file."]
        opened.purge()
    assert words(folder) == []
    monkeypatch.delenv("PROMPTUARY_DATABASE")
    with Promptuary.open(folder, exact=True) as opened:
        opened.restore(tmp_path / "server.zip", force=True)
    assert words(folder) == ["on a server", "You said on a server."]


def test_a_server_that_is_away_does_not_keep_a_message_from_being_expanded(
    files: Files, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PROMPTUARY_DATABASE", f"postgresql://ada@/db?host={files({'a.md': 'One.'})}")
    with Promptuary.open(files({}), exact=True, embedder="none") as opened:
        assert "One." in opened.expand("see @a.md").messages[-1]["content"]
        with pytest.raises(PromptuaryError, match="does not answer"):
            opened.threads.history(thread="t")
