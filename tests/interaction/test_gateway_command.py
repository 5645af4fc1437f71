"""``promptuary gateway``: what it says about a bot before it runs, and where it cannot run."""

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from promptuary.gateways.running import check_gateway
from tests.gateways import PLATFORMS, SEND, TOKENS, Rig, base_url, made_fake
from tests.platforms.telegram import TOKEN, FakeTelegram
from tests.programs import PROMPTUARY, impatient


def run(*words: str) -> tuple[int, str, str]:
    """Run a command in a process of its own, in which what is left open is told."""
    command = [sys.executable, "-W", "default::ResourceWarning", "-m", "promptuary", *words]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    return done.returncode, done.stdout, done.stderr


def configured(text: str) -> None:
    path = Path.home() / ".config" / "promptuary" / "config.toml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def test_a_check_tells_what_the_bot_is_and_who_may_write_to_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TELEGRAM_BOT_TOKEN", TOKEN)
    with FakeTelegram() as fake:
        configured(
            f'[gateways.telegram]\nbase_url = "{fake.url()}"\nallow = ["42"]\n'
            f'[gateways.telegram.chats."-5"]\nworkspace = "{tmp_path}"\nkinds = ["file"]\n'
        )
        code, out, err = run("gateway", "check", "telegram")
        asked = json.loads(run("gateway", "check", "--json")[1])

    assert (code, err) == (1, "")  # nobody gets an answer without a model
    assert asked["can_answer"] is False
    assert "promptuary_bot" in out
    assert "people: 42" in out
    assert "model: no model is set; set answer_model" in out
    assert "every other chat: no files, only @url and notes" in out
    assert f"-5: {tmp_path}; @file" in out
    assert asked["lines"] == out.splitlines()


def test_a_token_that_the_platform_does_not_know_is_told_and_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TELEGRAM_BOT_TOKEN", "1:wrong-nonce")
    with FakeTelegram() as fake:
        configured(f'[gateways.telegram]\nbase_url = "{fake.url()}"\n')
        code, out, err = run("gateway", "check", "telegram")

    assert (code, out) == (2, "")
    assert "token" in err
    assert "wrong-nonce" not in err


@pytest.mark.parametrize(
    ("settings", "words", "message"),
    [
        ("", [], "gateway"),
        ("[gateways.telegram]\n", ["telegrm"], "telegram"),
        ("[gateways.telegram]\n", ["check"], "TELEGRAM_BOT_TOKEN"),
        ("[gateways.telegram]\ntoken = 'nonce'\n", ["check"], "a token does not belong in a file"),
    ],
)
def test_what_is_missing_is_told(
    monkeypatch: pytest.MonkeyPatch, settings: str, words: list[str], message: str
) -> None:
    monkeypatch.delenv("TELEGRAM_BOT_TOKEN", raising=False)
    configured(settings)
    code, out, err = run("gateway", *words)

    assert (code, out) == (2, "")
    assert message in err
    assert "nonce" not in err


@pytest.mark.parametrize("platform", PLATFORMS)
def test_a_check_closes_every_connection(platform: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, token in TOKENS.items():
        monkeypatch.setenv(name, token)
    with made_fake(platform) as fake:
        configured(f'[gateways.{platform}]\nbase_url = "{base_url(platform, fake)}"\n')

        async def checked() -> int:
            await check_gateway(platform)
            await asyncio.to_thread(fake.wait_for, lambda: not fake.connections, 3.0)
            return int(fake.connections)

        assert asyncio.run(checked()) == 0
        assert fake.calls


def test_a_token_may_be_in_the_keyring(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in TOKENS:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PYTHON_KEYRING_BACKEND", "keyrings.alt.file.PlaintextKeyring")
    with made_fake("slack") as fake:
        configured(f'[gateways.slack]\nmodel = "ollama/m"\nkeyring = true\nbase_url = "{base_url("slack", fake)}"\n')
        code, _, err = run("gateway", "check", "slack")
        assert code == 2
        assert "SLACK_BOT_TOKEN, or run `keyring set promptuary slack`" in err
        for entry, token in (("slack", "SLACK_BOT_TOKEN"), ("slack-app", "SLACK_APP_TOKEN")):
            command = [sys.executable, "-m", "keyring", "set", "promptuary", entry]
            subprocess.run(command, input=TOKENS[token], check=True, text=True, capture_output=True)
        code, out, err = run("gateway", "check", "slack")

    assert (code, err) == (0, "")
    assert out.startswith("Slack: promptuary in Team\nthe socket can be opened\n")


class Running:
    """``promptuary gateway`` as a process, and what it says."""

    def __init__(self, *names: str, program: Sequence[str] = PROMPTUARY) -> None:
        command = [*program, "gateway", *names]
        environment = os.environ | TOKENS
        self.process = subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True)
        self.said: list[str] = []

    def until(self, words: str) -> str:
        """Read what it says until a line with some words, and return that line."""
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self.said.append(line)
            if words in line:
                return line
        raise AssertionError(self.said)

    def interrupted(self) -> tuple[int, str]:
        """Press Ctrl-C, and return the exit code and the rest of what it says."""
        self.process.send_signal(signal.SIGINT)
        rest = self.process.communicate(timeout=30)[1]
        return self.process.returncode, rest


def test_one_gateway_that_fails_leaves_the_others_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(TOKENS, "DISCORD_BOT_TOKEN", "wrong-nonce")
    monkeypatch.delenv("NO_SUCH_TOKEN", raising=False)
    with made_fake("telegram") as fake, made_fake("discord") as other:
        configured(
            f'[gateways.telegram]\nbase_url = "{fake.url()}"\nallow = ["42"]\n'
            f'[gateways.discord]\nbase_url = "{other.url("/api")}"\nallow = ["42"]\n'
            '[gateways.second]\nplatform = "telegram"\ntoken_env = "NO_SUCH_TOKEN"\nallow = ["42"]\n'
        )
        bot = Running("second", "discord", "telegram")
        assert "NO_SUCH_TOKEN" in bot.until("second: cannot run")
        assert "Discord does not accept the token" in bot.until("discord: stopped")
        fake.say(42, "/help")
        assert fake.wait_for(lambda: fake.texts("42"))
        code, rest = bot.interrupted()

    assert code == 0
    assert rest.endswith("stopped; what is not answered yet is answered at the next start\n")
    assert "nonce" not in "".join([*bot.said, rest])


def test_what_is_missing_for_an_answer_is_told_at_the_start() -> None:
    with made_fake("telegram") as fake:
        configured(f'[gateways.telegram]\nbase_url = "{fake.url()}"\nallow = []\n')
        bot = Running()
        bot.until("connected to Telegram")
        fake.say(42, "Hello")
        assert fake.wait_for(lambda: fake.texts("42"))
        bot.interrupted()

    assert "nobody gets an answer: no model is set; set answer_model" in bot.said[0]
    assert 'nobody may write to it yet: set allow = ["ID"]' in bot.said[1]
    assert fake.texts("42") == ["I do not know you. The operator of this bot can allow your id: 42"]


@pytest.mark.parametrize("platform", PLATFORMS)
def test_an_extra_that_is_missing_is_named(platform: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = {"telegram": "telegram", "discord": "discord", "slack": "slack_bolt"}[platform]
    (tmp_path / f"{package}.py").write_text("raise ImportError")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    for name, token in TOKENS.items():
        monkeypatch.setenv(name, token)
    configured(f"[gateways.{platform}]\n")
    code, _, err = run("gateway", platform)

    assert code == 2
    assert err.startswith(
        f"promptuary: {platform.title()} needs the extra {platform}: {sys.executable} -m pip install '"
    )
    assert "promptuary[" not in err


def test_a_platform_out_of_reach_is_told_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TELEGRAM_BOT_TOKEN", TOKENS["TELEGRAM_BOT_TOKEN"])
    with made_fake("telegram") as fake:
        configured(
            f'[gateways.telegram]\nbase_url = "{fake.url()}"\nallow = [42]\nmodel = "m"\n[models.m]\nscripted = ["x"]\n'
        )
        fake.faults["getMe"].extend(["drop", "drop"])
        bot = Running()
        bot.until("connected to Telegram")
        bot.interrupted()
    code, _, err = run("gateway", "check")

    assert [line for line in bot.said if "cannot be reached" in line] == bot.said[:1]
    assert code == 2
    assert err.startswith("promptuary: Telegram cannot be reached: ")
    assert TOKENS["TELEGRAM_BOT_TOKEN"] not in err


@pytest.mark.parametrize(
    ("table", "told"),
    [
        ('model = "nosuch"\n', "the model nosuch cannot be used: no chat model is called 'nosuch'"),
        ('model = "gpt-5-mini"\n', "the model gpt-5-mini cannot be used: The chat service needs a key: set"),
    ],
)
def test_a_model_that_cannot_answer_is_told_by_check(monkeypatch: pytest.MonkeyPatch, table: str, told: str) -> None:
    monkeypatch.setenv("TELEGRAM_BOT_TOKEN", TOKENS["TELEGRAM_BOT_TOKEN"])
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with made_fake("telegram") as fake:
        configured(f'[gateways.telegram]\nbase_url = "{fake.url()}"\nallow = [42]\n{table}')
        code, out, _ = run("gateway", "check")

    assert code == 1
    assert f"model: {told}" in out


@pytest.mark.parametrize(
    ("table", "told"),
    [
        (
            'workspace = "{root}/nope"',
            "is not a folder that can be opened. Create or repair it, or name another workspace",
        ),
        (
            'workspace = "{root}"\nfolders = ["docs", "dosc"]',
            "'dosc' is not a folder of {root}: create it, or correct folders",
        ),
        ('workspace = "app"', "workspace must be a full path: write it from / or from ~, as in ~/app"),
    ],
)
def test_a_workspace_that_cannot_be_used_is_told_with_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, table: str, told: str
) -> None:
    monkeypatch.setenv("TELEGRAM_BOT_TOKEN", TOKENS["TELEGRAM_BOT_TOKEN"])
    (tmp_path / "docs").mkdir()
    with made_fake("telegram") as fake:
        where = table.replace("{root}", str(tmp_path))
        configured(f'[gateways.telegram]\nbase_url = "{fake.url()}"\n[gateways.telegram.chats."-5"]\n{where}\n')
        for words in (["check"], []):
            code, out, err = run("gateway", *words)
            assert (code, out) == (2, "")
            assert told.replace("{root}", str(tmp_path)) in err
            assert "-5" in err


@pytest.mark.parametrize("platform", PLATFORMS)
def test_errors_of_the_network_are_told_in_a_line_each(platform: str) -> None:
    with made_fake(platform) as fake:
        configured(
            f'[gateways.{platform}]\nbase_url = "{base_url(platform, fake)}"\nallow = ["*"]\nmodel = "m"\n'
            '[models.m]\nscripted = ["x"]\n'
        )
        # The client of Slack looks after its connection every few seconds.
        program = impatient({"promptuary.gateways.slack.PING_SECONDS": 0.5}) if platform == "slack" else PROMPTUARY
        bot, rig = Running(program=program), Rig(platform, fake)
        bot.until("connected to")
        fake.faults["getUpdates"].extend(["drop", "500"])
        fake.faults[SEND[platform]].extend(["500", "drop"])
        rig.say(42, "/help")
        assert fake.wait_for(lambda: rig.texts(42))
        fake.disconnect()
        if platform != "telegram":
            bot.until("trying again")
            bot.until("connected to")
        _, rest = bot.interrupted()

    said = [*bot.said, *rest.splitlines(keepends=True)]
    assert all(line.startswith((f"{platform}: ", "stopped; ")) for line in said), said
