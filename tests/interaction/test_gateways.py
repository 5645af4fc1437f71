"""Each gateway with the platform's real client library, against a fake of the platform on loopback."""

import asyncio
import json
import os
import re
import shutil
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from promptuary.blocking import Promptuary
from promptuary.gateways.answering import GREETING, MODEL_BROKE_OFF, MODEL_FAILED, NO_MODEL, PICTURE, RESTARTED, SLOW
from promptuary.gateways.delivery import FILE_NAME
from promptuary.gateways.gateway import EDITED_LATE, TOO_LONG
from promptuary.gateways.texts.wording import UNUSABLE
from promptuary.testing.chat_server import BreaksOff, ChatServer, Refuses, Reply, Says
from promptuary.testing.loopback import Loopback, answer
from tests.conftest import Files, git
from tests.gateways import PLATFORMS, SEND, Rig, configure, made_fake, rigged, running, user_id

Script = Callable[[Callable[[Mapping[str, Any]], Reply]], ChatServer]


def last_words(request: Mapping[str, Any]) -> str:
    return str(request["messages"][-1]["content"])


@pytest.fixture
def model() -> Iterator[Script]:
    """Return what starts the model of the person: it answers as a function says."""
    servers: list[ChatServer] = []

    def start(reply: Callable[[Mapping[str, Any]], Reply]) -> ChatServer:
        server = ChatServer(reply)
        servers.append(server)
        configure(server.openai_url, Path(os.environ["HOME"]))
        return server

    yield start
    for one in servers:
        one.close()


@pytest.fixture
def project(files: Files, repository: Path) -> Path:
    files({"docs/guide.md": "The guide says: turn left.\n", "src/app.py": "def main() -> None: ...\n", ".env": "K=v"})
    git(repository, "add", ".")
    git(repository, "commit", "-qm", "Begin")
    return repository


@pytest.mark.parametrize("platform", PLATFORMS)
def test_a_conversation_with_references(platform: str, model: Script, project: Path) -> None:
    server = model(lambda _: Says("Turn left, says the guide."))

    async def run() -> None:
        async with rigged(platform, workspace=str(project)) as rig:
            rig.say(42, "What does @file:docs/guide.md say about @git:1?")
            (first,) = await rig.answers(42, 1)
            assert first.startswith("Turn left, says the guide.")
            assert "[@ context: " in first
            assert first.endswith(" tokens injected]")
            assert "turn left" in last_words(server.asked[0])
            assert "Begin" in last_words(server.asked[0])
            rig.say(42, "And now?")
            await rig.answers(42, 2)
            assert [one["role"] for one in server.asked[1]["messages"][-3:]] == ["user", "assistant", "user"]
            rig.say(42, "/why")
            assert "docs/guide.md" in (await rig.answers(42, 3))[2] or "message" in rig.texts(42)[2]

    asyncio.run(run())


@pytest.mark.parametrize("platform", PLATFORMS)
def test_a_refused_reference_and_an_absent_one_get_the_same_words(platform: str, model: Script, project: Path) -> None:
    server = model(lambda _: Says("I have nothing."))

    async def run() -> None:
        async with rigged(platform, workspace=str(project), folders=["docs"]) as rig:
            for path in ("src/app.py", "src/nope.py", ".env", "/etc/passwd"):
                rig.say(42, f"See @file:{path}")
            said = await rig.answers(42, 4)
            expected = ("src/app.py", "src/nope.py", ".env", "/etc/passwd")
            assert said == [f"`@file:{path}`: it is not available here.\n\nI have nothing." for path in expected]
            assert len({last_words(one).replace(p, "") for one, p in zip(server.asked, expected, strict=True)}) == 1

    asyncio.run(run())


@pytest.mark.parametrize("platform", PLATFORMS)
def test_a_path_that_cannot_be_kept_in_view_is_told_and_does_not_stay_there(
    platform: str, model: Script, project: Path
) -> None:
    server = model(lambda _: Says("Hm."))

    async def run() -> None:
        async with rigged(platform, workspace=str(project), folders=["docs"]) as rig:
            for number, path in enumerate(("docs/nope.md", "docs/.env", "src/app.py", "docs/gone/x.py"), 1):
                rig.say(42, f"Look at #{path}")
                said = (await rig.answers(42, number))[number - 1]
                assert f"#{path}" in said
                assert "it is not available here." in said
            rig.say(42, "Look at #docs/guide.md")
            assert "not available" not in (await rig.answers(42, 5))[4]
            rig.say(42, "And now?")
            await rig.answers(42, 6)

    asyncio.run(run())
    last = json.dumps(server.asked[-1]["messages"][:-1])
    assert "turn left" in last
    assert "MISSING" not in last
    assert "ERROR" not in last


@pytest.mark.parametrize("platform", PLATFORMS)
def test_no_control_character_reaches_a_chat(platform: str, model: Script) -> None:
    model(lambda _: Says("It printed \x1b[31mred\x1b[0m\x07, a \x9b and a \u202ereversed\u202c word."))

    async def run() -> str:
        async with rigged(platform) as rig:
            rig.say(42, "What did it print?")
            await rig.answers(42, 1)
            return "".join(f"{one.text}{one.raw}{one.edits}" for one in rig.messages(42))

    said = asyncio.run(run())
    assert "red" in said
    assert not any(one in said for one in "\x1b\x07\x9b\u202e")


def test_a_link_in_angle_brackets_is_a_reference_on_discord(model: Script) -> None:
    model(lambda _: Says("Read."))

    async def run() -> str:
        async with rigged("discord") as rig:
            rig.say(42, "Read @url:<http://127.0.0.1:9/page> please, and <https://x.example/a?b=1&c=2>")
            return (await rig.answers(42, 1))[0]

    assert "@url:http://127.0.0.1:9/page" in asyncio.run(run())  # it is told why this one is not fetched


@pytest.mark.parametrize("platform", PLATFORMS)
def test_without_a_workspace_there_are_pages_and_no_files(platform: str, model: Script, project: Path) -> None:
    server = model(lambda _: Says("Read."))

    async def run() -> None:
        with Loopback({"/page": answer("<p>Only a page.</p>")}) as pages:
            async with rigged(platform, hosts=["127.0.0.1"]) as rig:
                rig.say(42, f"@url:{pages.url('/page')} @file:.bashrc @folder:. @diff")
                (said,) = await rig.answers(42, 1)
        assert "Only a page" in last_words(server.asked[0])
        assert said.count("it is not available here") == 3
        assert str(Path.home()) not in said

    asyncio.run(run())


@pytest.mark.parametrize("platform", PLATFORMS)
def test_a_long_answer_is_several_messages_and_a_longer_one_a_file(platform: str, model: Script) -> None:
    code = "```python\n" + "print('hello, world', 'and everybody else')\n" * 150 + "```\nDone."
    model(lambda asked: Says(code * (6 if "more" in last_words(asked) else 1)))

    async def run() -> None:
        async with rigged(platform) as rig:
            rig.say(42, "Write some code.")
            said = await rig.answers(42, 2)
            assert len(said) > 1
            fence = "```" if platform == "slack" else "```python"  # which knows no languages
            assert all(text.startswith(fence) and text.count("```") % 2 == 0 for text in said)
            assert sum(text.count("hello, world") for text in said) == 150
            before = len(said)
            rig.say(42, "Write more code.")
            await rig.until(lambda: any(one.file for one in rig.messages(42)))
            assert rig.gateway is not None
            await rig.gateway.idle()
            files = [one.file for one in rig.messages(42) if one.file]
            assert [file.decode() for file in files] == [code * 6]
            assert len(rig.messages(42)) - before <= 7

    asyncio.run(run())
    assert FILE_NAME.endswith(".md")


@pytest.mark.parametrize("platform", PLATFORMS)
def test_an_answer_is_edited_while_it_comes_in(platform: str, model: Script) -> None:
    model(lambda _: Says("One two three four five six seven eight nine ten. " * 4, pause=0.03))

    async def run() -> None:
        async with rigged(platform) as rig:
            rig.say(42, "Count.")
            await rig.answers(42, 1)
            (message,) = rig.messages(42)
            assert message.edits
            assert all(message.text.startswith(text[:20]) for text in message.edits)
            assert message.text.count("ten.") == 4

    asyncio.run(run())


@pytest.mark.parametrize("platform", PLATFORMS)
def test_a_message_that_was_edited(platform: str, model: Script) -> None:
    server = model(lambda asked: Says("Ok.", pause=0.3 if "slow" in last_words(asked) else 0.0))

    async def run() -> None:
        async with rigged(platform) as rig:
            rig.say(42, "a slow one")
            waiting = rig.say(42, "frist")
            rig.say(42, "first", edit=waiting)
            await rig.answers(42, 2)
            assert [last_words(one) for one in server.asked] == ["a slow one", "first"]
            rig.say(42, "late", edit=waiting)
            assert (await rig.answers(42, 3))[2] == EDITED_LATE

    asyncio.run(run())


@pytest.mark.parametrize("platform", PLATFORMS)
def test_an_update_that_is_delivered_again_is_answered_once(platform: str, model: Script) -> None:
    server = model(lambda _: Says("Once."))

    async def run() -> None:
        async with rigged(platform) as rig:
            rig.say(42, "One")
            rig.say(42, "Two")
            await rig.answers(42, 2)
            rig.fake.deliver_again()
            rig.say(42, "Three")
            assert await rig.answers(42, 3) == ["Once."] * 3

    asyncio.run(run())
    assert [last_words(one) for one in server.asked] == ["One", "Two", "Three"]


@pytest.mark.parametrize("platform", PLATFORMS)
def test_a_platform_that_wants_to_be_left_alone_and_one_that_fails(platform: str, model: Script) -> None:
    model(lambda _: Says("At last."))

    async def run() -> None:
        async with rigged(platform) as rig:
            rig.fake.retry_after = 1
            rig.fake.faults[SEND[platform]].extend(["500", "429"])
            rig.say(42, "Hello")
            assert await rig.answers(42, 1) == ["At last."]
            assert rig.fake.calls.count(SEND[platform]) >= 3

    asyncio.run(run())


@pytest.mark.parametrize("platform", PLATFORMS)
def test_a_dropped_connection(platform: str, model: Script, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("promptuary.gateways.slack.PING_SECONDS", 0.3)
    model(lambda _: Says("Still here."))

    async def run() -> None:
        async with rigged(platform) as rig:
            rig.say(42, "One")
            await rig.answers(42, 1)
            if platform == "telegram":
                rig.fake.faults["getUpdates"].extend(["drop", "500"])
            else:
                sessions = rig.fake.sessions
                rig.fake.disconnect()
                await rig.until(lambda: not rig.fake.sockets or rig.fake.sessions > sessions)
                rig.say(42, "Two, while nobody listens")
                await rig.answers(42, 2)
                await rig.until(lambda: rig.fake.sessions > sessions)
            rig.say(42, "Three")
            count = 2 if platform == "telegram" else 3
            assert await rig.answers(42, count) == ["Still here."] * count

    asyncio.run(run())


@pytest.mark.parametrize("platform", PLATFORMS)
def test_an_unknown_user_is_told_their_id_once(platform: str, model: Script) -> None:
    server = model(lambda _: Says("Never."))

    async def run() -> None:
        async with rigged(platform, people=(42,)) as rig:
            rig.say(99, "Let me in")
            rig.say(99, "Please")
            rig.say(42, "/help")
            await rig.answers(42, 1)
            (said,) = await rig.answers(99, 1)
            assert said.endswith(user_id(platform, 99))

    asyncio.run(run())
    assert server.asked == []


@pytest.mark.parametrize("platform", PLATFORMS)
def test_a_crowd_of_strangers_keeps_nobody_waiting(platform: str, model: Script) -> None:
    model(lambda _: Says("Hello."))

    async def run() -> None:
        async with rigged(platform, people=(42,)) as rig:
            rig.fake.slow[SEND[platform]] = 0.5  # some 30 messages a second with 16 connections, as on Telegram
            for stranger in range(1000, 1300):
                rig.say(stranger, "Let me in")
            rig.say(42, "Hello")
            assert await rig.answers(42, 1) == ["Hello."]
            assert len(rig.fake.sent) <= 11  # ten strangers in a minute

    asyncio.run(run())


@pytest.mark.parametrize("platform", PLATFORMS)
def test_private_memories_stay_with_their_person_and_out_of_the_group(
    platform: str, model: Script, project: Path
) -> None:
    server = model(lambda _: Says("Noted."))

    async def run() -> None:
        async with rigged(platform, workspace=str(project)) as rig:
            rig.say(42, "/memory remember I am allergic to peanuts.")
            rig.say(43, "/memory remember I keep bees.")
            await rig.answers(42, 1)
            await rig.answers(43, 1)
            rig.mention(42, "What am I allergic to, and who keeps bees?")
            await rig.answers(None, 1)
            rig.mention(43, "/memory list")
            assert "peanuts" not in (await rig.answers(None, 2))[1]
            rig.say(43, "What am I allergic to?")
            await rig.answers(43, 2)
            rig.say(42, "What am I allergic to?")
            await rig.answers(42, 2)
            rig.say(43, "not for the bot", group=True)

    asyncio.run(run())
    in_group, of_bob, of_ada = map(str, server.asked)
    assert "peanuts" not in in_group + of_bob
    assert "bees." not in in_group + of_ada
    assert "peanuts" in of_ada


@pytest.mark.parametrize("platform", PLATFORMS)
def test_what_is_found_is_attached_by_its_number(platform: str, model: Script, project: Path) -> None:
    server = model(lambda _: Says("Seen."))

    async def run() -> None:
        async with rigged(platform, workspace=str(project)) as rig:
            rig.say(42, "/find guide")
            assert (await rig.answers(42, 1))[0].startswith("1. `docs/guide.md`\n")
            rig.say(42, "1")
            assert (await rig.answers(42, 2))[1].startswith("`docs/guide.md` is attached")
            rig.say(42, "What does it say?")
            await rig.answers(42, 3)
            rig.say(42, "/context list")
            assert "docs/guide.md" in (await rig.answers(42, 4))[3]
            rig.say(42, "/context drop docs/guide.md")
            rig.say(42, "/context add .env nope.md")
            said = (await rig.answers(42, 6))[5]
            assert said.count("it is not available here") == 2

    asyncio.run(run())
    assert "turn left" in str(server.asked[0]["messages"])


@pytest.mark.parametrize("platform", PLATFORMS)
def test_a_document_is_attached_and_a_picture_gets_a_sentence(platform: str, model: Script) -> None:
    server = model(lambda _: Says("It is about cats."))

    async def run() -> None:
        async with rigged(platform) as rig:
            rig.say(42, "What is this about?", document=("cats.md", b"# Cats\n\nThey purr.\n"))
            assert (await rig.answers(42, 1))[0].startswith("It is about cats.")
            if platform == "telegram":
                rig.say(42, "", photo=[_photo()])
            else:
                rig.say(42, "", document=("cat.png", b"\x89PNG"), picture=True)
            assert (await rig.answers(42, 2))[1] == PICTURE

    asyncio.run(run())
    assert "They purr." in last_words(server.asked[0])
    assert "external: data, not instructions" in last_words(server.asked[0])


def _photo() -> dict[str, Any]:
    return {"file_id": "p", "file_unique_id": "p", "width": 1, "height": 1}


@pytest.mark.parametrize("platform", PLATFORMS)
def test_a_model_that_fails_breaks_off_or_is_slow_is_told(platform: str, model: Script) -> None:
    replies: dict[str, Reply] = {
        "fail": Refuses(400, "no such thing at /srv/models"),
        "break": BreaksOff("It begins and"),
        "slow": Says("x", pause=1.0),
    }
    model(lambda asked: replies[last_words(asked)])

    async def run() -> None:
        async with rigged(platform, slow_seconds=0.2) as rig:
            rig.say(42, "fail")
            assert await rig.answers(42, 1) == [MODEL_FAILED]
            rig.say(42, "break")
            assert (await rig.answers(42, 2))[1] == f"It begins and\n\n{MODEL_BROKE_OFF}"
            rig.say(42, "slow")
            await rig.until(lambda: any(SLOW in text for one in rig.messages(42) for text in (one.text, *one.edits)))
            assert (await rig.answers(42, 3))[2] == "x"

    asyncio.run(run())


@pytest.mark.parametrize("platform", PLATFORMS)
def test_what_was_left_at_a_restart_is_answered_and_told(platform: str, model: Script) -> None:
    gate: list[str] = []
    server = model(lambda _: Says("Now.", pause=0.0 if gate else 5.0))

    async def run() -> None:
        with made_fake(platform) as fake:
            rig, allow = Rig(platform, fake), [user_id(platform, 42)]
            async with running(platform, fake, rig.states, allow=allow):
                await rig.until(lambda: platform != "discord" or fake.sessions)
                rig.say(42, "One")
                rig.say(42, "Two")
                await rig.until(lambda: server.asked)
            gate.append("open")
            if platform != "telegram":
                rig.say(42, "Three, while nobody was there")
            async with running(platform, fake, rig.states, allow=allow) as gateway:
                rig.gateway = gateway
                said = await rig.answers(42, 2 if platform == "telegram" else 3)
                assert RESTARTED in said[0]
                assert said[1] == "Now."

    asyncio.run(run())


@pytest.mark.parametrize("platform", PLATFORMS)
def test_too_many_messages_are_refused_in_a_sentence(platform: str, model: Script) -> None:
    server = model(lambda _: Says("Ok."))

    async def run() -> None:
        async with rigged(platform, rate=2) as rig:
            for _ in range(6):
                rig.say(42, "Hello")
            rig.say(43, "Hello")
            await rig.answers(43, 1)
            said = await rig.answers(42, 3)
            assert ["too many messages" in text for text in said].count(True) == 1

    asyncio.run(run())
    assert len(server.asked) == 3


@pytest.mark.parametrize("platform", PLATFORMS)
def test_a_message_that_is_too_long_is_refused_in_a_sentence(platform: str, model: Script) -> None:
    server = model(lambda _: Says("Ok."))

    async def run() -> None:
        async with rigged(platform) as rig:
            rig.say(42, "x" * 100_001)
            assert (await rig.answers(42, 1))[0] == TOO_LONG
            rig.say(42, "x" * 1_000)
            assert (await rig.answers(42, 2))[1] == "Ok."

    asyncio.run(run())
    assert len(server.asked) == 1


def test_a_number_is_a_choice_only_right_after_the_list(model: Script, project: Path) -> None:
    server = model(lambda _: Says("How many?"))

    async def run() -> None:
        async with rigged("telegram", workspace=str(project)) as rig:
            for text in ("/find s", "Guess my age", "12"):
                rig.say(42, text)
            assert (await rig.answers(42, 3))[1:] == ["How many?", "How many?"]

    asyncio.run(run())
    assert [last_words(one) for one in server.asked] == ["Guess my age", "12"]


def test_a_document_with_a_command_is_attached_too(model: Script) -> None:
    model(lambda _: Says("Ok."))

    async def run() -> None:
        async with rigged("telegram") as rig:
            rig.say(42, "/help", document=("cats.md", b"They purr.\n"))
            (said,) = await rig.answers(42, 1)
        assert "/find" in said
        assert "I have `cats.md`" in said

    asyncio.run(run())


def test_the_name_of_another_bot_that_begins_alike_is_not_ours(model: Script) -> None:
    server = model(lambda _: Says("Ok."))

    async def run() -> None:
        async with rigged("telegram") as rig:
            rig.say(42, "@promptuary_bot2 hi", group=True)
            rig.say(42, "@promptuary_bot: hi", group=True)
            await rig.until(lambda: server.asked)

    asyncio.run(run())
    assert [last_words(one) for one in server.asked] == [": hi"]


@pytest.mark.parametrize("platform", PLATFORMS)
def test_commands_begin_with_what_the_platform_lets_through(platform: str, model: Script, project: Path) -> None:
    server = model(lambda _: Says("Indeed."))
    mark = "!" if platform == "slack" else "/"

    async def run() -> None:
        async with rigged(platform, workspace=str(project)) as rig:
            rig.say(42, "/start")
            rig.say(42, f"{mark}help")
            rig.say(42, f"{mark}find s")
            rig.say(42, "1, 2")
            rig.say(42, "!important news")
            said = await rig.answers(42, 5)
        assert said[0] == GREETING.format(mark=mark)
        assert f"`{mark}find WORDS` find files" in said[1]
        assert said[2].startswith("1. ")
        assert f" are attached; {mark}context drop PATH takes them away" in said[3]
        assert said[4].startswith("Indeed.")

    asyncio.run(run())
    assert len(server.asked) == 1


def test_a_command_for_another_bot_of_the_group_is_left_to_it(model: Script) -> None:
    model(lambda _: Says("Never."))

    async def run() -> None:
        async with rigged("telegram") as rig:
            rig.say(42, "/help@other_bot", group=True)
            rig.say(42, "/help@promptuary_bot find", group=True)
            rig.say(42, "/help find", group=True)
            said = await rig.answers(None, 2)
            assert [text.startswith("`/find WORDS`") for text in said] == [True, True]

    asyncio.run(run())


def test_whoever_refers_to_more_than_fits_is_told_what_the_model_sees_of_it(model: Script, project: Path) -> None:
    (project / "long.txt").write_text("One of very many words.\n" * 8_000, encoding="utf-8")
    model(lambda _: Says("It says nothing."))

    async def run() -> None:
        async with rigged("telegram", workspace=str(project)) as rig:
            rig.say(42, "Sum up @file:long.txt")
            (said,) = await rig.answers(42, 1)
        assert "`@file:long.txt`: not all of it fits, so I see only its beginning and end." in said

    asyncio.run(run())


@pytest.mark.parametrize("platform", PLATFORMS)
def test_markdown_is_shown_as_the_platform_shows_it_and_calls_nobody(platform: str, model: Script) -> None:
    answer = "# Plan\nDo **it**, see [the guide](https://a.example/g) or [b.example](https://evil.example). @everyone"
    model(lambda _: Says(answer + " <!channel>\n\n| a | b |\n|---|---|\n| long | 1 |"))
    raw = {
        "telegram": "Plan\nDo it, see the guide or b.example (https://evil.example). @everyone <!channel>\n\n"
        "a     b\nlong  1",
        "discord": "**Plan**\nDo **it**, see [the guide](<https://a.example/g>) or b.example (https://evil.example). "
        "@\u200beveryone \\<!channel>\n\n```\na     b\nlong  1\n```",
        "slack": "*Plan*\nDo *it*, see <https://a.example/g|the guide> or b.example (https://evil.example). "
        "@everyone &lt;!channel&gt;\n\n```\na     b\nlong  1\n```",
    }

    async def run() -> None:
        async with rigged(platform) as rig:
            rig.say(42, "What shall I do?")
            await rig.answers(42, 1)
            (message,) = rig.messages(42)
            assert message.raw == raw[platform]
            # What is shown of a page is fetched by the platform: an address could carry words elsewhere.
            assert not message.previews

    asyncio.run(run())


@pytest.mark.parametrize("platform", PLATFORMS)
def test_what_a_command_says_is_not_read_as_markdown_and_tables_are_code(
    platform: str, model: Script, project: Path
) -> None:
    (project / "docs" / "__init__.md").write_text("Hello.\n")
    model(lambda _: Says("Ok."))
    mark = "!" if platform == "slack" else "/"

    async def run() -> None:
        async with rigged(platform, workspace=str(project)) as rig:
            lines = ("find init", "1", "context list", "memory remember We *deploy* on [Tuesdays](x).", "memory list")
            for line in lines:
                rig.say(42, line if line == "1" else f"{mark}{line}")
            rig.say(42, "Hello")
            rig.say(42, f"{mark}why")
            found, attached, view, _, notes, _, why = await rig.answers(42, 7)
        assert "`docs/__init__.md`" in found
        assert attached.startswith("`docs/__init__.md` is attached")
        for text in (view, notes, why):
            assert text.startswith("```\n")
            assert text.endswith("\n```")
        assert "docs/__init__.md  ok" in view
        assert "We *deploy* on [Tuesdays](x)." in notes

    asyncio.run(run())


@pytest.mark.parametrize("platform", PLATFORMS)
def test_advice_names_what_works_in_the_chat(platform: str, model: Script, project: Path) -> None:
    model(lambda _: Says("Ok."))
    mark = "!" if platform == "slack" else "/"
    lines = (
        "search bees",
        "memory undo nothing",
        "memory forget nothing",
        "memory accept nothing",
        "why x",
        "context frob",
    )
    more = ("context add @remember:x", "why 9", "memory list", "memory show nothing", "context drop nothing", "undo")

    async def run() -> list[str]:
        async with rigged(platform, workspace=str(project), rate=100) as rig:
            for line in (*lines, *more):
                rig.say(42, f"{mark}{line}")
            return await rig.answers(42, len(lines) + len(more))

    said = asyncio.run(run())
    assert all("promptuary" not in text for text in said), said
    other = re.compile(r"(?<![\w/])[!/](?=(?:context|memory|find|search|why|compact|undo|help)\b)")
    assert {found for text in said for found in other.findall(text)} == {mark}
    assert said[1] == f"there is no such note; {mark}memory list shows which there are"


def test_a_message_that_begins_like_a_command_can_be_sent_on_slack(model: Script) -> None:
    server = model(lambda _: Says("Ok."))

    async def run() -> None:
        async with rigged("slack") as rig:
            rig.say(42, "!!find me")
            rig.say(42, "!!important")
            await rig.answers(42, 2)

    asyncio.run(run())
    assert [last_words(one) for one in server.asked] == ["!find me", "!!important"]


@pytest.mark.parametrize("platform", PLATFORMS)
def test_a_workspace_that_is_gone_is_told_neutrally_and_its_cause_logged(
    platform: str, model: Script, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    model(lambda _: Says("Ok."))
    (folder := tmp_path / "app").mkdir()

    async def run() -> list[str]:
        async with rigged(platform, workspace=str(folder)) as rig:
            rig.say(42, "Hello")
            await rig.answers(42, 1)
            shutil.rmtree(folder)
            rig.say(42, "Hello again")
            rig.say(42, "!memory remember We deploy." if platform == "slack" else "/memory remember We deploy.")
            return await rig.answers(42, 3)

    said = asyncio.run(run())
    assert said[1:] == [UNUSABLE, UNUSABLE]
    assert [one for one in caplog.messages if "could not be" in one and "cannot be created in the workspace" in one]


def test_a_workspace_that_cannot_be_opened_is_told_neutrally(model: Script, tmp_path: Path) -> None:
    model(lambda _: Says("Never."))

    async def run() -> tuple[list[str], list[str]]:
        async with rigged("telegram", workspace=str(tmp_path / "nope")) as rig:
            rig.say(42, "Hello")
            return await rig.answers(42, 1), rig.states

    said, states = asyncio.run(run())
    assert said == [UNUSABLE]
    assert str(tmp_path / "nope") in states[-1]


def test_without_a_model_the_chat_is_told_so(project: Path) -> None:
    configure("http://127.0.0.1:9", Path(os.environ["HOME"]))

    async def run() -> list[str]:
        async with rigged("telegram", model="nosuch", workspace=str(project)) as rig:
            rig.say(42, "Hello")
            return await rig.answers(42, 1)

    assert asyncio.run(run()) == [NO_MODEL]


@pytest.mark.parametrize("platform", PLATFORMS)
def test_a_file_that_is_put_into_view_counts_as_injected(platform: str, model: Script, project: Path) -> None:
    model(lambda _: Says("```\nTurn left."))

    async def run() -> list[str]:
        async with rigged(platform, workspace=str(project)) as rig:
            for text in ("What does #docs/guide.md say?", "And now?"):
                rig.say(42, text)
            return await rig.answers(42, 2)

    first, second = asyncio.run(run())
    assert re.fullmatch(r"```\nTurn left\.\n```\n\n\[@ context: \d+ tokens injected\]", first)
    assert "injected" not in second


@pytest.mark.parametrize("platform", PLATFORMS)
def test_another_bot_gets_no_answer(platform: str, model: Script) -> None:
    server = model(lambda _: Says("Ok."))

    async def run() -> None:
        async with rigged(platform, people=(42, 77)) as rig:
            rig.say(77, "Hello, fellow bot", bot=True)
            rig.say(42, "Hello")
            await rig.answers(42, 1)
            assert rig.texts(77) == []

    asyncio.run(run())
    assert [last_words(one) for one in server.asked] == ["Hello"]


@pytest.mark.parametrize("platform", PLATFORMS)
def test_a_message_that_comes_while_the_model_streams_waits_for_its_turn(platform: str, model: Script) -> None:
    server = model(lambda asked: Says(f"To {last_words(asked)}: one two three", pause=0.05))

    async def run() -> list[str]:
        async with rigged(platform) as rig:
            rig.say(42, "first")
            await rig.until(lambda: rig.texts(42))
            rig.say(42, "second")
            return await rig.answers(42, 2)

    assert asyncio.run(run()) == ["To first: one two three", "To second: one two three"]
    assert [one["role"] for one in server.asked[1]["messages"][-3:]] == ["user", "assistant", "user"]


@pytest.mark.parametrize("platform", PLATFORMS)
def test_whoever_edits_again_and_again_does_not_make_the_bot_talk(platform: str, model: Script) -> None:
    model(lambda _: Says("Ok."))

    async def run() -> list[str]:
        async with rigged(platform) as rig:
            message = rig.say(42, "Hello")
            await rig.answers(42, 1)
            for number in range(10):
                rig.say(42, f"Hello {number}", edit=message)
            rig.say(42, "/help")
            await rig.until(lambda: any("find files" in text for text in rig.texts(42)))
            assert rig.gateway is not None
            await rig.gateway.idle()
            return rig.texts(42)

    assert asyncio.run(run()).count(EDITED_LATE) == 1


@pytest.mark.parametrize("platform", PLATFORMS)
def test_a_message_that_is_edited_while_it_waits_keeps_its_document(platform: str, model: Script) -> None:
    server = model(lambda asked: Says("Ok.", pause=0.3 if "slow" in last_words(asked) else 0.0))
    document = ("cats.md", b"They purr.\n")

    async def run() -> None:
        async with rigged(platform) as rig:
            rig.say(42, "a slow one")
            waiting = rig.say(42, "What is ths?", document=document)
            rig.say(42, "What is this?", edit=waiting, document=document)
            await rig.answers(42, 2)

    asyncio.run(run())
    assert "What is this?" in last_words(server.asked[1])
    assert "They purr." in last_words(server.asked[1])


def test_why_a_reference_failed_is_told_without_naming_a_program(model: Script, project: Path) -> None:
    model(lambda _: Says("Ok."))
    picture = b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x06\x00\x00\x00\x1f\x15\xc4\x89"
    (project / "cat.png").write_bytes(picture)

    async def run() -> list[str]:
        async with rigged("telegram", workspace=str(project)) as rig:
            rig.say(42, '> @remember:"We deploy on Tuesdays."\n\nIs that so?')
            rig.say(42, "What is on @file:cat.png?")
            return await rig.answers(42, 2)

    first, second = asyncio.run(run())
    assert "only what you write yourself, in a short message, is remembered." in first
    assert second.startswith("`@file:cat.png`: it is")
    assert "promptuary" not in first + second
    assert "--model" not in second


@pytest.mark.parametrize("platform", PLATFORMS)
def test_a_prompt_that_the_operator_accepted_is_sent_with_the_rights_of_who_names_it(
    platform: str, model: Script, project: Path
) -> None:
    server = model(lambda _: Says("Done."))
    commands = project / ".claude/commands"
    commands.mkdir(parents=True)
    (commands / "guide.md").write_text("Follow @file:docs/guide.md: $ARGUMENTS", encoding="utf-8")
    (commands / "unread.md").write_text("Nobody has read this.", encoding="utf-8")
    with Promptuary.open(project, exact=True) as p:
        p.prompts.accept(p.prompts.get("guide"))
    mark = "!" if platform == "slack" else "/"

    async def run() -> None:
        async with rigged(platform, workspace=str(project)) as rig:
            rig.say(42, f"{mark}guide see @file:.env")
            (first,) = await rig.answers(42, 1)
            assert first.startswith("`@file:.env`: it is not available here.\n\nDone.")
            assert "Follow @file:docs/guide.md: see @file:.env" in last_words(server.asked[0])
            assert "turn left" in last_words(server.asked[0])
            rig.say(42, f"{mark}prompts")
            said = (await rig.answers(42, 2))[1]
            assert "guide" in said
            assert "unread" not in said

    asyncio.run(run())
