"""Secrets in files with ordinary names: what is unmistakable by its form is masked in everything that is sent."""

import base64
import random
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from promptuary.blocking import Promptuary
from promptuary.references.expansion import Expansion
from promptuary.testing.loopback import Loopback, answer
from promptuary.workspace.disk.secret_values import mask_secrets
from tests.linear import assert_linear, repeated

# Put together here, so that no scanner takes this file for a leak.
HEX = "0123456789abcdef" * 8
MIXED = "a1B2c3D4e5F6g7H8" * 8
TOKENS = {
    "AWS access key": "AKIA" + "QYLPMN5HXR3ZT7WD",
    "GitHub token": "ghp_" + MIXED[:36],
    "a fine-grained GitHub token": "github_pat_" + MIXED[:22] + "_" + MIXED[:59],
    "GitLab token": "glpat-" + MIXED[:20],
    "Slack token": "xoxb-" + "123456789012-1234567890123-" + MIXED[:24],
    "Stripe key": "sk_live_" + MIXED[:24],
    "Google key": "AIza" + MIXED[:35],
    "Anthropic key": "sk-ant-api03-" + MIXED[:93] + "AA",
    "OpenAI key": "sk-proj-" + MIXED[:100],
    "an older OpenAI key": "sk-" + MIXED[:20] + "T3Blbk" + "FJ" + MIXED[:20],
    "Hugging Face token": "hf_" + MIXED[:34],
    "Promptuary token": "pt_" + "0a1b2c3d4e5f_" + "0a1b2c3d4e5f" * 4,
    "npm token": "npm_" + MIXED[:36],
    "PyPI token": "pypi-" + "AgEIcHlwaS5vcmc" + MIXED[:60],
    "SendGrid key": "SG." + MIXED[:22] + "." + MIXED[:43],
    "age key": "AGE-SECRET-" + "KEY-1" + ("QPZRY9X8GF2TVDW0" * 4)[:58],
    "JSON web token": "eyJ" + "hbGciOiJIUzI1NiJ9" + ".eyJ" + "zdWIiOiIxMjM0NTY3ODkwIn0" + "." + MIXED[:43],
}
GITHUB = TOKENS["GitHub token"]
BEGIN = "-----BEGIN RSA PRIVATE" + " KEY-----"
END = "-----END RSA PRIVATE" + " KEY-----"


def private_key(kind: str = "RSA ") -> str:
    data = base64.b64encode(random.Random(kind).randbytes(600)).decode()
    lines = [data[at : at + 64] for at in range(0, len(data), 64)]
    return "\n".join([f"-----BEGIN {kind}PRIVATE" + " KEY-----", *lines, f"-----END {kind}PRIVATE" + " KEY-----", ""])


def key_lines(key: str) -> list[str]:
    return [line for line in key.splitlines() if not line.startswith("-----")]


def sent(expansion: Expansion) -> str:
    return str(expansion.messages[-1]["content"])


@pytest.mark.parametrize("name", TOKENS)
def test_a_known_token_is_masked_and_nothing_around_it(name: str) -> None:
    token = TOKENS[name]
    for before, after in (
        ("key = '", "'\n"),
        ("", ""),
        ("export X=", "\n"),
        ("https://x:", "@host"),
        ('{"a": "', '"}'),
    ):
        masked = mask_secrets(before + token + after)

        assert token not in masked
        assert masked.startswith(before + "⟨masked: ")
        assert masked.endswith("⟩" + after)


@pytest.mark.parametrize("kind", ["", "RSA ", "EC ", "OPENSSH ", "ENCRYPTED ", "DSA "])
@pytest.mark.parametrize(
    "shape",
    [
        str,
        lambda key: "".join(f"+{line}\n" for line in key.splitlines()),
        lambda key: "".join(f"-{line}\n" for line in key.splitlines()),
        lambda key: "".join(f'    "{line}\\n"\n' for line in key.splitlines()),
        lambda key: '{"private_key": "' + key.replace("\n", "\\n") + '"}\n',
        lambda key: key.replace("\n", "\r\n"),
        lambda key: "".join(key.splitlines(keepends=True)[:7]),
        lambda key: "".join(key.splitlines(keepends=True)[4:]),
    ],
    ids=["as it is", "added", "removed", "in code", "in JSON", "Windows lines", "its beginning", "its end"],
)
def test_a_private_key_is_masked_line_by_line(kind: str, shape: Callable[[str], str]) -> None:
    shaped = shape(private_key(kind))
    masked = mask_secrets(f"before\n{shaped}after = compute(value)\n")

    assert [line for line in key_lines(private_key(kind)) if line[:24] in masked or line[-12:] in masked] == []
    assert masked.count("\n") == shaped.count("\n") + 2
    assert masked.startswith("before\n")
    assert masked.endswith("after = compute(value)\n")


@pytest.mark.parametrize(
    "text",
    [
        f'if "{BEGIN}" in text:\n    return load_the_private_key_from_the_configured_path(text)\n',
        "-----BEGIN CERTIFICATE-----\n" + MIXED[:64] + "\n-----END CERTIFICATE-----\n",
        "-----BEGIN PUBLIC KEY-----\n" + MIXED[:64] + "\n-----END PUBLIC KEY-----\n",
        "AKIA" + "IOSFODNN7EXAMPLE, sk-your-key-here, ghp_xxxx, sk_test_..., xoxb-your-token, hf_model_name\n",
        "task-proj-management and disk-admin-tools; risk-ant-colony; npm_config_registry_of_this_very_machine_here\n",
        "sha256 " + HEX[:64] + " " + MIXED + "\n",
        "eyJhbGciOiJIUzI1NiJ9 alone, or eyJhbGci.x.y\n",
    ],
)
def test_what_only_resembles_a_secret_stays_as_it_is(text: str) -> None:
    assert mask_secrets(text) == text


def git(folder: Path, *arguments: str) -> None:
    identity = ("-c", "user.name=A", "-c", "user.email=a@example.org")
    subprocess.run(["git", *identity, *arguments], cwd=folder, check=True, capture_output=True)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "app.py").write_text(f"import os\nTOKEN = '{GITHUB}'\n\n\ndef main():\n    return TOKEN\n")
    (tmp_path / "AGENTS.md").write_text(f"Deploy with {GITHUB} always.\n")
    return tmp_path


@pytest.mark.parametrize(
    "message", ["@file:src/app.py", "@file:src/app.py:1-3", "@glob:src/*.py", "@folder:src:contents", "#src/app.py"]
)
def test_a_file_is_sent_with_its_secrets_masked_and_model_and_person_are_told(folder: Path, message: str) -> None:
    with Promptuary.open(folder) as promptuary:
        expansion = promptuary.expand(f"look at {message}")

    assert GITHUB not in sent(expansion)
    assert "TOKEN = '⟨masked: GitHub token⟩'" in sent(expansion)
    assert "1 secret masked" in sent(expansion)
    assert any("masked" in warning and "src/app.py" in warning for warning in expansion.warnings)


def test_git_shows_no_secret_of_a_file_or_a_message(folder: Path) -> None:
    git(folder, "init", "-q")
    git(folder, "add", ".")
    git(folder, "commit", "-qm", f"Use {GITHUB}")
    (folder / "src" / "app.py").write_text(f"TOKEN = '{TOKENS['Stripe key']}'\n")
    (folder / "new.md").write_text(TOKENS["npm token"] + "\n")
    (folder / "key.md").write_text(private_key())
    with Promptuary.open(folder) as promptuary:
        said = "".join(sent(promptuary.expand(kind)) for kind in ("@diff", "@git:1", "@commit:HEAD"))
        git(folder, "add", ".")
        said += sent(promptuary.expand("@staged"))

    assert said.count("⟨masked: ") > 6
    assert [name for name, token in TOKENS.items() if token in said] == []
    assert [line for line in key_lines(private_key()) if line in said] == []


def test_a_page_is_masked_and_the_person_is_told(tmp_path: Path) -> None:
    page = f"<title>Key {TOKENS['Stripe key']}</title><p>Deploy with {GITHUB} always.</p><pre>{private_key()}</pre>"
    with Loopback({"*": answer(page)}) as server, Promptuary.open(tmp_path, allow_hosts=["127.0.0.1"]) as promptuary:
        expansion = promptuary.expand(f"@url:{server.url('/page')}")

    assert "Deploy with ⟨masked: GitHub token⟩ always" in sent(expansion)
    assert "Title: Key ⟨masked: Stripe key⟩" in sent(expansion)
    assert [line for line in key_lines(private_key()) if line[:24] in sent(expansion)] == []
    assert any("masked" in warning and "/page" in warning for warning in expansion.warnings)


@pytest.mark.parametrize("kind", ["@diff", "@staged", "@git:1", "@commit:HEAD", "@symbol:main", "@search:deployment"])
def test_whatever_a_message_asks_for_the_person_is_told_what_was_masked(folder: Path, kind: str) -> None:
    git(folder, "init", "-q")
    git(folder, "add", ".")
    git(folder, "commit", "-qm", f"Use {GITHUB}")
    for name in ("staged.md", "untracked.md"):
        (folder / name).write_text(f"The deployment uses {GITHUB} for main.\n")
    (folder / "main.py").write_text(f"def main():\n    return '{GITHUB}'\n")
    git(folder, "add", "staged.md")
    with Promptuary.open(folder) as promptuary:
        promptuary.search.index(["."])
        expansion = promptuary.expand(kind)

    assert "⟨masked: GitHub token⟩" in sent(expansion)
    assert GITHUB not in sent(expansion)
    assert any("masked" in warning for warning in expansion.warnings)


@pytest.mark.parametrize("word", ["src/app.py", "@src/app.py", "#src/app.py", "@glob:src/*.py"])
def test_what_is_attached_to_a_thread_is_masked_and_the_person_is_told(folder: Path, word: str) -> None:
    with Promptuary.open(folder) as promptuary:
        promptuary.threads.attach(word)
        turn = promptuary.threads.prepare("What is this?")

    prompt = "".join(str(message["content"]) for message in turn.messages)
    assert "TOKEN = '⟨masked: GitHub token⟩'" in prompt
    assert GITHUB not in prompt
    assert any("masked" in warning and "src/app.py" in warning for warning in turn.receipt.warnings)


def test_a_mask_that_was_forged_does_not_count(tmp_path: Path) -> None:
    forged = "⟨masked: GitHub token⟩"
    (tmp_path / "AGENTS.md").write_text(f"Rules about {forged}.\n")
    (tmp_path / "notes.md").write_text(f"# Deployment\n\nThe deployment uses {forged} every night.\n")
    (tmp_path / f"{forged}.md").write_text("a name\n")
    git(tmp_path, "init", "-q")
    with Promptuary.open(tmp_path) as promptuary:
        promptuary.search.index(["."])
        asked = ["@file:notes.md", "@glob:*.md", "@folder:.", "@diff", "@status", "@search:deployment", "#notes.md"]
        expansion = promptuary.expand(" ".join(asked))
        turn = promptuary.threads.prepare("which deployment runs every night? #notes.md")

    said = sent(expansion) + "".join(str(message["content"]) for message in turn.messages)
    assert "uses ⟨U+27E8⟩masked: GitHub token⟩ every night" in said
    assert "secret masked" not in said
    assert "secrets masked" not in said
    assert not any("masked" in warning for warning in (*expansion.warnings, *turn.receipt.warnings))


def test_a_setting_holds_for_what_was_indexed_before_it(folder: Path) -> None:
    def found(*allowed: str) -> str:
        with Promptuary.open(folder, allow_sensitive=list(allowed), embedder="none") as promptuary:
            return "".join(hit.text for hit in promptuary.search.find("TOKEN main").hits)

    with Promptuary.open(folder, embedder="none") as promptuary:
        promptuary.search.index(["."])
    assert GITHUB not in found()
    assert f"TOKEN = '{GITHUB}'" in found("app.py")
    assert GITHUB not in found()
    with Promptuary.open(folder, allow_sensitive=["app.py"], embedder="none") as promptuary:
        promptuary.search.index(["."], rebuild=True)
    assert f"TOKEN = '{GITHUB}'" in found("app.py")
    assert "TOKEN = '⟨masked: GitHub token⟩'" in found()


def test_standing_files_and_recalled_lines_are_masked_in_a_prompt(folder: Path) -> None:
    (folder / "notes.md").write_text(f"# Deployment\n\nThe deployment uses {TOKENS['Slack token']} every night.\n")
    with Promptuary.open(folder) as promptuary:
        promptuary.search.index(["."])
        hits = promptuary.search.find("deployment every night").hits
        turn = promptuary.threads.prepare("which deployment runs every night? #src/app.py")

    prompt = "".join(str(message["content"]) for message in turn.messages)
    assert hits
    assert [name for name, token in TOKENS.items() if token in prompt + "".join(hit.text for hit in hits)] == []
    assert any("masked" in warning and "AGENTS.md" in warning for warning in turn.receipt.warnings)


def test_only_the_person_can_have_a_secret_sent_by_naming_the_file(folder: Path) -> None:
    (folder / "promptuary.toml").write_text('allow_sensitive = ["app.py"]\n')
    with Promptuary.open(folder) as promptuary:
        assert GITHUB not in sent(promptuary.expand("@file:src/app.py"))
    (folder / "promptuary.toml").unlink()
    git(folder, "init", "-q")
    with Promptuary.open(folder, allow_sensitive=["app.py"]) as promptuary:
        expansion = promptuary.expand("@file:src/app.py")
        diff = promptuary.expand("@diff")

    assert GITHUB in sent(expansion)
    assert not any("masked" in warning for warning in expansion.warnings)
    assert f"+TOKEN = '{GITHUB}'" in sent(diff)
    assert f"+Deploy with {GITHUB}" not in sent(diff)


HOSTILE = {
    "beginnings of keys": BEGIN + "\n",
    "ends of keys": END + "\n",
    "keys without an end": f"{BEGIN}\n{MIXED[:64]}\n",
    "ends below key lines": f"{MIXED[:64]}\n{END}\n",
    "dashes": BEGIN + "-",
    "lines of base64": f"{MIXED[:64]}\n",
    "web tokens": "eyJhbGciOiJIUzI1.eyJ",
    "tokens side by side": GITHUB,
    "beginnings of tokens": "ghp_ sk-ant- xoxb-1-",
    "spaces after a name": "aws_secret_access_key" + " " * 9,
    "beginnings of web tokens": "eyJ",
    "parts of web tokens": "eyJhbGciOiJIUzI1..",
    "beginnings of logins": "://a1B2c3D4:",
    "names of services": "twilio_twilio_key_",
    "services without a value": "OKTA_TOKEN=" + MIXED[:20] + ".",
    "short beginnings": "hf_r8_sk-key-SKpat",
    "hexadecimal digits": "0a1b2c3d-",
    "dots": MIXED[:24] + "." + MIXED[:6] + ".",
    "digests": "sha256=" + MIXED[:43],
    "percent signs": "%3A1234567890",
    "lines of a key in another form": "Private-Lines: 9\n" + MIXED[:64] + "\n",
}


@pytest.mark.parametrize("family", HOSTILE)
def test_masking_takes_time_in_proportion_to_the_text(family: str) -> None:
    assert_linear(mask_secrets, repeated(HOSTILE[family], end=f"{END}AKIA.eyJ"), 100_000)
