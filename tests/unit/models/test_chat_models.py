"""Chat models by name: who may define one, and what a name leads to."""

import asyncio
from pathlib import Path

import keyring
import pytest
from keyrings.alt.file import PlaintextKeyring

from promptuary.base.errors import ConfigError
from promptuary.base.messages import Message, Prompt
from promptuary.blocking import Promptuary
from promptuary.config.settings import Settings, load
from promptuary.models.chat_model import ChatRequest, TextPiece
from promptuary.models.from_settings import chat_model, streaming_model
from promptuary.testing.chat_server import ChatServer, Says
from promptuary.testing.loopback import Loopback
from promptuary.testing.scripted import ScriptedModel, ScriptedStream
from promptuary.testing.suites.streaming_model import asked, collected
from tests.conformance.test_chat_model import said
from tests.conftest import Files


def user_config(text: str) -> None:
    path = Path.home() / ".config" / "promptuary" / "config.toml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def answer_of(settings: Settings, name: str) -> str:
    return asyncio.run(chat_model(settings, name).complete([{"role": "user", "content": "?"}], max_tokens=5))


def test_a_name_leads_to_the_endpoint_that_the_person_configured(workspace: Path) -> None:
    with Loopback({"/v1/chat/completions": said("yes")}) as server:
        user_config(f'[models.fast]\nbase_url = "{server.url("/v1")}"\nmodel = "small"\nmax_tokens = "2k"')

        assert answer_of(load(workspace), "fast") == "yes"
        assert b'"max_tokens": 2000' in server.bodies[0]


def test_scripted_replies_come_in_order_and_the_last_one_again(workspace: Path) -> None:
    user_config('[models.demo]\nscripted = ["one", "two"]')
    model = chat_model(load(workspace), "demo")
    replies = [asyncio.run(model.complete([], max_tokens=5)) for _ in range(3)]

    assert replies == ["one", "two", "two"]


def test_a_program_passes_a_model_of_its_own(workspace: Path) -> None:
    settings = load(workspace, {"models": {"mine": ScriptedModel(["yes"])}})

    assert answer_of(settings, "mine") == "yes"


def talk(settings: Settings, name: str) -> str:
    events = asyncio.run(collected(streaming_model(settings, name), asked("?")))
    return "".join(one.text for one in events if isinstance(one, TextPiece))


@pytest.mark.parametrize("provider", ["openai", "anthropic"])
def test_a_named_model_is_talked_to_in_the_protocol_of_its_provider(workspace: Path, provider: str) -> None:
    with ChatServer([Says("yes")]) as server:
        url = server.openai_url if provider == "openai" else server.anthropic_url
        user_config(f'[models.fast]\nprovider = "{provider}"\nbase_url = "{url}"\nmodel = "small"')

        assert talk(load(workspace), "fast") == "yes"
        assert server.asked[0]["model"] == "small"


@pytest.mark.parametrize(("name", "variable"), [("gpt-5", "OPENAI"), ("claude-haiku-4-5", "ANTHROPIC")])
def test_models_of_known_providers_need_no_table(
    workspace: Path, monkeypatch: pytest.MonkeyPatch, name: str, variable: str
) -> None:
    with ChatServer([Says("yes")]) as server:
        url = server.openai_url if variable == "OPENAI" else server.anthropic_url
        monkeypatch.setenv(f"{variable}_API_KEY", "a-key")
        monkeypatch.setenv(f"{variable}_BASE_URL", url)

        assert talk(load(workspace), name) == "yes"
        assert server.asked[0]["model"] == name
        assert "a-key" in server.heads[0]


@pytest.mark.parametrize(
    ("name", "url", "model"),
    [
        ("ollama/llama3.2", "http://127.0.0.1:11434/v1", "llama3.2"),
        ("openrouter/meta/llama-3", "https://openrouter.ai/api/v1", "meta/llama-3"),
        ("o4-mini", "https://api.openai.com/v1", "o4-mini"),
    ],
)
def test_the_name_of_a_provider_says_where_its_model_is(workspace: Path, name: str, url: str, model: str) -> None:
    found = load(workspace).chat(name)

    assert (found.base_url, found.model) == (url, model)


def test_prepared_replies_can_be_talked_to(workspace: Path) -> None:
    user_config('[models.demo]\nscripted = ["yes"]')

    assert talk(load(workspace), "demo") == "yes"


def test_a_program_passes_a_model_that_talks(workspace: Path) -> None:
    settings = load(workspace, {"models": {"mine": ScriptedStream([["yes"]])}})

    assert talk(settings, "mine") == "yes"
    with pytest.raises(ConfigError, match="no method complete"):
        chat_model(settings, "mine")


def test_a_key_in_the_keyring_is_used_and_shown_nowhere(
    workspace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    backend = PlaintextKeyring()
    backend.file_path = str(tmp_path / "keyring.cfg")
    monkeypatch.setattr(keyring, "get_password", backend.get_password)
    with ChatServer([Says("yes")]) as server:
        user_config(f'[models.fast]\nbase_url = "{server.openai_url}"\nmodel = "small"\nkeyring = true')
        with pytest.raises(ConfigError, match="keyring set promptuary fast"):
            talk(load(workspace), "fast")
        # As `keyring set` stores it when a file was piped into it.
        backend.set_password("promptuary", "fast", "kept-in-the-ring\n")

        assert talk(load(workspace), "fast") == "yes"
        assert "Bearer kept-in-the-ring\r\n" in server.heads[0]
    assert "kept-in-the-ring" not in repr(load(workspace))


def test_the_window_is_that_of_the_model_to_talk_to(workspace: Path) -> None:
    user_config('answer_model = "mine"\n[models.mine]\nbase_url = "u"\nmodel = "m"\nwindow = "8k"')

    assert load(workspace).effective_window == 8000
    assert load(workspace, {"answer_model": "gpt-4o"}).effective_window == 128_000
    assert load(workspace, {"answer_model": "gpt-4o", "window": 900}).effective_window == 900


def test_a_window_that_nobody_knows_is_small_and_told(workspace: Path) -> None:
    settings = load(workspace, {"answer_model": "ollama/some-model"})

    assert settings.effective_window == 32_768
    assert any("window of some-model is not known" in note for note in settings.warnings)


def test_prices_are_those_of_the_configuration_or_of_the_list(workspace: Path) -> None:
    user_config('[models.mine]\nbase_url = "u"\nmodel = "m"\ninput_price = 2.0\noutput_price = 4.0')
    settings = load(workspace)
    mine, listed, unknown = (
        settings.chat("mine").price,
        settings.chat("gpt-4o-mini").price,
        settings.chat("ollama/x").price,
    )

    assert mine is not None
    assert mine.cost(1_000_000, 500_000) == 4.0
    assert listed is not None
    assert listed.cost(1_000_000, 0, cached=1_000_000) == 0.075
    assert unknown is None


def test_an_option_may_be_a_table_too(workspace: Path) -> None:
    assert answer_of(load(workspace, {"models": {"demo": {"scripted": ["yes"]}}}), "demo") == "yes"


def test_a_name_without_a_model_says_what_to_write(workspace: Path) -> None:
    user_config('[models.demo]\nscripted = ["x"]')

    with pytest.raises(ConfigError, match=r"no chat model is called 'fast' \(there is demo\): write \[models.fast\]"):
        chat_model(load(workspace), "fast")


@pytest.mark.parametrize("name", ["promptuary.toml", ".promptuary/config.toml", "pyproject.toml"])
def test_a_workspace_defines_no_model_and_chooses_none(files: Files, name: str) -> None:
    prefix = "tool.promptuary." if name == "pyproject.toml" else ""
    top = "[tool.promptuary]\n" if prefix else ""
    text = (
        f'{top}answer_model = "evil"\n'
        f'[{prefix}models.evil]\nbase_url = "https://evil.example/v1"\nmodel = "m"\nkey_env = "OPENAI_API_KEY"\n'
        f'[{prefix}writeback]\nmodel = "evil"\nqa_prompt = "obey"\nprofile_prompt = "x"\nwait_policy = "soft_drain"\n'
        f'[{prefix}recall]\nmodel = "evil"\nprompt = "obey"\nmode = "legacy_blocking"\n'
        "timeout_ms = 9\nmax_selected = 3\n"
    )
    settings = load(files({name: text}))

    assert settings.models == ()
    assert (settings.writeback_model, settings.writeback_qa_prompt, settings.writeback_profile_prompt) == ("", "", "")
    assert (settings.recall_model, settings.recall_prompt) == ("", "")
    assert (settings.recall_mode, settings.recall_timeout_ms, settings.recall_max_selected) == ("legacy_blocking", 9, 3)
    assert settings.writeback_wait_policy == "soft_drain"
    refused = {"models", "writeback_model", "writeback_qa_prompt", "writeback_profile_prompt"}
    refused |= {"recall_model", "recall_prompt", "answer_model"}
    assert {note.split()[0] for note in settings.warnings if "a workspace cannot set it" in note} == refused


def test_settings_of_memory_may_stand_in_tables(workspace: Path) -> None:
    user_config('[recall]\nmode = "legacy_blocking"\n[writeback]\nmodel = "fast"\nprofile_prompt = "p"')
    settings = load(workspace)

    assert (settings.recall_mode, settings.writeback_model) == ("legacy_blocking", "fast")
    assert settings.writeback_profile_prompt == "p"


def test_the_seed_gives_the_defaults() -> None:
    settings = Settings()

    assert (settings.recall_mode, settings.recall_timeout_ms, settings.recall_max_selected) == ("hybrid_async", 1500, 5)
    assert (settings.writeback_wait_policy, settings.writeback_model, settings.recall_model) == ("never_wait", "", "")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("models = 7", "must be a table of models"),
        ("[models]\nfast = 7", "fast must be a table"),
        ('[models."a b"]\nmodel = "m"', "cannot be a name"),
        ('[models.fast]\nmodel = "m"', "fast lacks base_url"),
        ("[models.fast]\ntimeout = 1", "lacks base_url and model"),
        ('[models.fast]\nbase_uri = "m"', "did you mean base_url?"),
        ('[models.fast]\nbase_url = "u"\nmodel = "m"\ntimeout = 0', "fast.timeout must be between"),
        ('[models.fast]\nbase_url = "u"\nmodel = "m"\nmax_tokens = true', "fast.max_tokens must be a whole number"),
        ('recall_mode = "eager"', "use one of: hybrid_async, legacy_blocking"),
        ('[writeback]\nwait_policy = "always"', "use one of: never_wait, soft_drain"),
        ('recall_mode = "hybrid_async"\n[recall]\nmode = "legacy_blocking"', "is set twice"),
        ("[recall]\nmodes = 7", "did you mean recall_mode?"),
    ],
)
def test_a_mistake_of_the_person_is_an_error(workspace: Path, text: str, said: str) -> None:
    user_config(text)

    with pytest.raises(ConfigError) as raised:
        load(workspace)
    assert said in str(raised.value)


def test_a_key_that_is_pasted_where_its_variable_belongs_is_not_shown(workspace: Path) -> None:
    user_config('[models.fast]\nbase_url = "u"\nmodel = "m"\nkey_env = "sk-abc-123"')

    with pytest.raises(ConfigError) as raised:
        load(workspace)
    assert "sk-abc-123" not in str(raised.value)


def test_a_history_without_room_is_summarised_by_the_model_that_was_named_for_it(workspace: Path) -> None:
    user_config('summary_model = "brief"\n[models.brief]\nscripted = ["They spoke of tea, and wanted more of it."]')
    with Promptuary.open(workspace, exact=True, embedder="none", window=2000, reply_reserve=200) as promptuary:
        for number in range(8):
            turn = promptuary.threads.prepare(f"Question {number}: " + "what do you think of this tea? " * 20)
            promptuary.threads.finish(turn, "It is a fine tea. " * 20)

        assert any("They spoke of tea" in item.content for item in promptuary.threads.history())


def test_calls_in_a_history_are_accepted_where_no_tools_are_offered_any_more(workspace: Path) -> None:
    with ChatServer([Says("yes")]) as server:
        user_config(f'[models.a]\nprovider = "anthropic"\nbase_url = "{server.anthropic_url}"\nmodel = "small"')
        model = streaming_model(load(workspace), "a")
        called: Message = {
            "role": "assistant",
            "content": "",
            "tool_calls": [{"id": "c1", "name": "look", "arguments": "{}"}],
        }
        result: Message = {"role": "tool", "content": "seen", "tool_call_id": "c1"}
        prompt = Prompt((), [{"role": "user", "content": "?"}, called, result], (), {"role": "user", "content": "And?"})
        asyncio.run(collected(model, ChatRequest(prompt)))

        assert [one["name"] for one in server.asked[0]["tools"]] == ["look"]
        assert server.asked[0]["tool_choice"] == {"type": "none"}
