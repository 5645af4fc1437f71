"""Models of pydantic-ai, by its names for them, with a real client of a provider."""

import asyncio
from pathlib import Path

import pytest

from promptuary.base.errors import ConfigError, PromptuaryError
from promptuary.config.settings import load
from promptuary.models.chat_model import TextPiece
from promptuary.models.from_settings import streaming_model
from promptuary.testing.chat_server import ChatServer, Refuses, Reply, Says
from promptuary.testing.suites.streaming_model import asked, collected

KEY = "sk-nonce-55aa01"


def talk(workspace: Path, table: str) -> str:
    path = Path.home() / ".config" / "promptuary" / "config.toml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(
        f'[models.mine]\nprovider = "pydantic-ai"\nmodel = "openai-chat:gpt-4.1"\n{table}', encoding="utf-8"
    )
    events = asyncio.run(collected(streaming_model(load(workspace), "mine"), asked("?")))
    return "".join(one.text for one in events if isinstance(one, TextPiece))


def served(reply: Reply, monkeypatch: pytest.MonkeyPatch) -> ChatServer:
    server = ChatServer([reply])
    monkeypatch.setenv("OPENAI_BASE_URL", server.openai_url)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    return server


def test_a_named_model_is_talked_to_with_its_length(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with served(Says("yes"), monkeypatch) as server:
        assert talk(workspace, "max_tokens = 77\n") == "yes"

    (request,) = server.asked
    assert request.get("max_completion_tokens", request.get("max_tokens")) == 77
    assert KEY in server.heads[0]


def test_a_key_that_the_service_repeats_is_taken_out_of_the_error(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with (
        served(Refuses(401, f"bad key {KEY}"), monkeypatch),
        pytest.raises(PromptuaryError, match="of pydantic-ai cannot answer") as caught,
    ):
        talk(workspace, "")

    assert KEY not in str(caught.value)


@pytest.mark.parametrize("line", ['base_url = "http://127.0.0.1:1"', 'key_env = "SOME_KEY"', "keyring = true"])
def test_what_pydantic_ai_takes_from_elsewhere_cannot_be_set(workspace: Path, line: str) -> None:
    with pytest.raises(ConfigError, match="has no effect: pydantic-ai reads the variables of the provider"):
        talk(workspace, line)
