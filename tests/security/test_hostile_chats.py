"""Hostile references through each gateway: nothing outside the chat's workspace is read, and no reply tells of it."""

import asyncio
import os
import random
import re
from pathlib import Path

import pytest

from promptuary.testing.chat_server import ChatServer, Says
from tests.conftest import Figure, Files, git
from tests.gateways import PLATFORMS, configure, rigged

SECRET = "the-secret-word-is-swordfish"
TARGETS = [
    *("/etc/passwd", "~/.ssh/id_rsa", "../outside.md", "docs/../../outside.md", "src/app.py", ".env", "docs/.env"),
    *("docs/link.md", "docs/folder/outside.md", ".git/config", ".promptuary/state.db", "docs/%2e%2e/src/app.py"),
    *("docs/../src/app.py", "./src/app.py", "DOCS/../src/app.py", "docs\\..\\src\\app.py", "/proc/self/environ"),
    *("file:///etc/passwd", "docs/a.md\x00/../../src/app.py", "docs//../src/app.py", "src", "..", "/", "~", "."),
]
SPELLINGS = [
    *("@file:{}", '@file:"{}"', "@{}", "#{}", "@folder:{}", "@glob:{}", "@glob:{}/**", "@symbol:{}#main", "@file:{}:1"),
    *("/context add {}", "/context add @file:{}", "@search:{}", "@diff:{}", "[[{}]]", "@file:`{}`", "@git:{}"),
]
OTHERS = [
    *(
        "@clipboard",
        "@diff",
        "@staged",
        "@status",
        "@git:5",
        "@commit:HEAD",
        "@url:http://127.0.0.1:22/",
        "/find secret",
    ),
    *(
        "@url:file:///etc/passwd",
        "@url:http://localhost/",
        "@url:http://169.254.169.254/latest/",
        "/find ..",
        "/find /",
    ),
    *(
        "@search:swordfish",
        "@memory:swordfish",
        "/search swordfish",
        "/memory list",
        "/context list",
        "/why",
        "/replay",
    ),
    *(
        "/save /tmp/x.md",
        "/model",
        "/copy",
        "/thread",
        "/quit",
        "/context find secret",
        "/memory show ../../etc/passwd",
    ),
]
"""What is no path."""


def attacks(count: int) -> list[str]:
    every = [*OTHERS, *(spelling.format(target) for spelling in SPELLINGS for target in TARGETS)]
    random.Random(7).shuffle(every)
    return every[:count]


@pytest.mark.torture
@pytest.mark.timeout(600)
@pytest.mark.parametrize("platform", PLATFORMS)
def test_hostile_references_read_and_tell_nothing(
    platform: str, files: Files, repository: Path, figure: Figure
) -> None:
    (repository.parent / "outside.md").write_text(SECRET)
    root = files({"src/app.py": f"{SECRET} = 1\n", ".env": SECRET, "docs/.env": SECRET, "docs/a.md": "Open.\n"})
    git(root, "add", "-A", "-f")
    git(root, "commit", "-qm", SECRET)
    files({"src/secret.py": SECRET})
    (root / "docs" / "link.md").symlink_to(root.parent / "outside.md")
    (root / "docs" / "folder").symlink_to(root.parent)
    host = re.compile(rf"{re.escape(str(root))}|{re.escape(os.environ['HOME'])}|/root/|/tmp/pytest")

    async def run(server: ChatServer) -> None:
        async with rigged(platform, workspace=str(root), folders=["docs"], rate=10_000) as rig:
            wanted = attacks(figure(24, 400))
            for number, text in enumerate(wanted, 1):
                rig.say(42, text)
                await rig.answers(42, number)
            said = rig.texts(42)
            assert len(said) == len(wanted)
            for text, reply in zip(wanted, said, strict=True):
                told = reply.replace(text, "").replace(text.rpartition(":")[2], "")
                assert SECRET not in reply, text
                assert not host.search(told), (text, reply)

    # The model says everything that it was sent: whatever gets into the prompt gets into the chat.
    with ChatServer(lambda asked: Says("I was sent: " + str(asked["messages"])[:1500])) as server:
        configure(server.openai_url, Path(os.environ["HOME"]))
        asyncio.run(run(server))
        assert SECRET not in str(server.asked)


@pytest.mark.parametrize("name", ["absolute", "relative"])
def test_a_document_is_never_a_file_of_this_machine(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The client library of Telegram reads a local file if one has the path that the server names."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "documents").mkdir()
    (tmp_path / "documents" / "file_1.md").write_text(SECRET)
    path = "documents/file_1.md" if name == "relative" else str(tmp_path / "documents" / "file_1.md")

    async def run() -> list[str]:
        async with rigged("telegram") as rig:
            rig.say(42, "What is it?", document=(path, b"They purr.\n"))
            return await rig.answers(42, 1)

    with ChatServer(lambda asked: Says("I was sent: " + str(asked["messages"]))) as server:
        configure(server.openai_url, Path(os.environ["HOME"]))
        (said,) = asyncio.run(run())

    assert SECRET not in said
    assert ("They purr." if name == "relative" else "could not be downloaded") in said


NAMES = [
    "[x](https://evil.example).md",
    "`**`.md",
    "\u202egpj.md",
    "\u200b.md",
    "a\x1b[2J.md",
    "<!channel>.md",
    "x" * 250,
]


@pytest.mark.parametrize("platform", PLATFORMS)
def test_documents_with_hostile_names_are_named_as_they_are(platform: str) -> None:
    async def run() -> list[str]:
        async with rigged(platform) as rig:
            for name in NAMES:
                rig.say(42, "", document=(name, b"They purr.\n"))
            await rig.answers(42, len(NAMES))
            return [one.raw for one in rig.messages(42)]

    with ChatServer(lambda _: Says("Never.")) as server:
        configure(server.openai_url, Path(os.environ["HOME"]))
        for name, raw in zip(NAMES, asyncio.run(run()), strict=True):
            assert raw.startswith(("I have ", "``", "`")), (name, raw)
            assert not set(raw) & {"\u202e", "\u200b", "\x1b"}, (name, raw)
            assert "<!channel" not in raw or platform != "slack"
            assert len(raw) < 300
        assert server.asked == []
