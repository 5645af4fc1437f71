"""The page about gateways: its commands and snippets are valid, and ten lines lead from a token to an answer."""

import contextlib
import os
import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from promptuary.cli.command_table import make_parser
from promptuary.config.gateways import _KEYS, PLATFORMS, named_gateways
from promptuary.testing.chat_server import ChatServer, Says
from tests.gateways import TOKENS, Rig, base_url, made_fake

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "gateways.md").read_text(encoding="utf-8")
STEPS = re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL)
SNIPPETS = [*re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL), *re.findall(r"<<'END'\n(.*?)END\n", PAGE, re.DOTALL)]


def test_every_snippet_of_configuration_is_valid() -> None:
    gateways = [one for text in SNIPPETS for one in named_gateways(tomllib.loads(text)["gateways"], "docs")]

    assert len(gateways) == 4
    assert gateways[0].chats["-1001234"].folders == ("docs", "src")


def test_every_key_is_explained() -> None:
    table = set(re.findall(r"`(\w+)`", " ".join(re.findall(r"^\| (`.*?) \|", PAGE, re.MULTILINE))))
    shown = {key for text in SNIPPETS for key in re.findall(r"^(\w+) =", text, re.MULTILINE)}

    assert set(_KEYS) <= table | shown | {"chats"}


def test_every_command_line_parses() -> None:
    lines = re.findall(r"^(promptuary [^\n#]*)|`(promptuary [^`]*)`", PAGE, re.MULTILINE)
    commands = [one or other for one, other in lines]

    assert len(commands) >= 5
    for command in commands:
        make_parser().parse_args(shlex.split(command)[1:])


@contextlib.contextmanager
def started(command: str) -> Iterator[None]:
    environment = os.environ | {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    with subprocess.Popen(["bash", "-ec", command], env=environment, stderr=subprocess.DEVNULL) as process:
        yield
        process.terminate()


@pytest.mark.parametrize(("platform", "steps"), list(zip(PLATFORMS, STEPS, strict=True)))
def test_ten_lines_lead_from_a_token_to_an_answer(platform: str, steps: str) -> None:
    assert len(steps.splitlines()) == 10
    install, _, rest = steps.partition("\n")
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    assert install == f"pipx install 'promptuary[{platform}] @ git+URL'"
    assert platform in extras
    for name in re.findall(r"(\w+)=\S+", rest.split("export ")[1].splitlines()[0]):
        rest = re.sub(rf"{name}=\S+", f"{name}={TOKENS.get(name, 'sk-any')}", rest)
    path = Path.home() / ".config" / "promptuary" / "config.toml"
    with made_fake(platform) as fake, ChatServer(lambda _: Says("Hello to you.")) as server:
        rig = Rig(platform, fake)
        # Where the platform and the model are; there is no other change to what the page says.
        rest = rest.replace("allow = []\n", f'allow = []\nbase_url = "{base_url(platform, fake)}"\n')
        rest = rest.replace(
            "END\npromptuary",
            f'[models.gpt-5-mini]\nmodel = "gpt-5-mini"\nbase_url = "{server.openai_url}"\nEND\nexec promptuary',
        )
        with started(rest):
            told = said(rig, "Hello?", "I do not know you")
        user = told.split()[-1]
        path.write_text(path.read_text().replace("allow = []", f'allow = ["{user}"]'))
        with started(re.sub(r"mkdir(.|\n)*\nEND\n", "", rest)):
            answer = said(rig, "Hello!", "Hello to you.")

    assert answer == "Hello to you."
    assert [one["model"] for one in server.asked] == ["gpt-5-mini"]


def said(rig: Rig, text: str, words: str) -> str:
    """Write to the bot when it is connected, and return its last message when that has some words in it."""
    if rig.platform != "telegram":
        sessions = rig.fake.sessions
        assert rig.fake.wait_for(lambda: rig.fake.sessions > sessions)
    rig.say(42, text)
    assert rig.fake.wait_for(lambda: words in "".join(rig.texts(42)[-1:]))
    return rig.texts(42)[-1]
