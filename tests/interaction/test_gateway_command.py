"""``promptuary gateway``: what it says about a bot before it runs, and where it cannot run."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from promptuary.testing.platforms.telegram import TOKEN, FakeTelegram


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

    assert (code, err) == (0, "")
    assert "promptuary_bot" in out
    assert "people: 42" in out
    assert "model: none; set answer_model" in out
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
        ("[gateways.telegram]\ntoken = 'nonce'\n", ["check"], "a token does not belong into a file"),
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
