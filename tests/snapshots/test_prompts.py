"""Whole prompts, as a person would read them. ``make snapshots`` writes them anew; then read the diff."""

import os
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from promptuary.blocking import Promptuary
from promptuary.testing.loopback import Loopback, answer
from tests.conftest import Files, git

SNAPSHOTS = Path(__file__).parent
APP = '''"""The application."""

import sys


class App:
    """Serves requests."""

    def __init__(self, name: str) -> None:
        self.name = name

    async def run(self, port: int = 8000) -> int:
        """Run until stopped."""
        return port


def main() -> None:
    """Start."""
    App(sys.argv[1])
'''
STYLE = "# Style\n\nShort names.\n\n```python\nx = 1\n```\n"


@pytest.fixture
def project(files: Files, repository: Path) -> Path:
    files({"src/app.py": APP, "src/util/paths.py": "ROOT = '.'\n", "docs/style.md": STYLE, ".env": "TOKEN=1\n"})
    git(repository, "add", "-f", ".")
    git(repository, "commit", "-qm", "Begin")
    files({"src/app.py": APP.replace("8000", "9000"), ".env": "TOKEN=2\n", "notes.txt": "remember\n"})
    return repository


def prompt(project: Path, text: str, **options: Any) -> str:
    with Promptuary.open(project, exact=True, **options) as promptuary:
        expansion = promptuary.expand(text)
    account = "\n".join(
        f"{one.reference.raw} | {one.status} | {one.code or one.detail} | {one.tokens} tokens | {one.reason}"
        for one in expansion.outcomes
    )
    warnings = "".join(f"warning: {warning}\n" for warning in expansion.warnings)
    return f"{expansion.messages[-1]['content']}\n\n===== account =====\n{account}\n{warnings}"


def matches(name: str, text: str) -> None:
    path = SNAPSHOTS / f"{name}.md"
    if os.environ.get("PROMPTUARY_UPDATE_SNAPSHOTS"):
        path.write_text(text, encoding="utf-8")
    assert path.read_text(encoding="utf-8") == text


def test_a_message_with_files_ranges_and_symbols(project: Path) -> None:
    matches(
        "files",
        prompt(project, "Review @file:src/app.py:6-9 and @file:src/app.py#App.run against #docs/style.md, please."),
    )


def test_a_message_with_a_folder_and_a_glob(project: Path) -> None:
    matches("folder_and_glob", prompt(project, "What is in @folder:src? Show me @glob:**/*.py,!**/app.py."))


def test_a_message_with_what_git_knows(project: Path) -> None:
    git(project, "add", "notes.txt")
    matches("git", prompt(project, "Explain @diff, @staged, @status and @git:1."))


def test_a_message_with_references_that_cannot_be_had(project: Path) -> None:
    text = "@file:src/ap.py @file:../secret @file:/etc/passwd @file:.env @file:src @commit:zzz @file:src/app.py:90-99"
    matches("refusals", prompt(project, text))


def test_a_message_that_does_not_fit(project: Path) -> None:
    (project / "big.py").write_text("\n".join(f"def function_{n}() -> int:\n    return {n}\n" for n in range(400)))
    (project / "log.txt").write_text("".join(f"line {n} of the log\n" for n in range(2_000)))
    matches("degraded", prompt(project, "Look at @file:big.py, @file:log.txt and @file:docs/style.md.", window=1_400))


@pytest.fixture(scope="module")
def large_repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a monorepo: 105 entries at the top, services of different depths, and one folder with very many files."""
    root = tmp_path_factory.mktemp("large") / "monorepo"
    names = [f"{name}.{ending}" for name in ("README", "CHANGELOG", "CONTRIBUTING") for ending in ("md", "txt")]
    names += [f"tool_{n:02}.toml" for n in range(19)]
    for number in range(78):
        service = f"service-{number:02}"
        names += [f"{service}/README.md", f"{service}/src/main.py", f"{service}/src/settings.py"]
        names += [f"{service}/src/api/v{n}/routes.py" for n in range(number % 4)]
        names += [f"{service}/tests/test_{n}.py" for n in range(number % 7)]
    names += [f"fixtures/recordings/{n:04}.json" for n in range(900)]
    names += [f"docs/{part}/{page}.md" for part in ("guides", "reference") for page in ("start", "deploy", "faq")]
    for name in names:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{name}\n" * (len(name) % 9 + 1), encoding="utf-8")
    (root / ".env").write_text("TOKEN=1\n")
    return root


@pytest.mark.parametrize("window", [4, 32, 128])
def test_a_message_with_the_tree_of_a_large_repository(large_repository: Path, window: int) -> None:
    matches(f"large_folder_{window}k", prompt(large_repository, "What is @folder:. about?", window=window * 1_000))


def test_a_message_with_a_history_that_does_not_fit(project: Path) -> None:
    for number in range(30):
        lines = "".join(f"line {n} of change {number}\n" for n in range(5 + 40 * (number % 3)))
        (project / f"notes/{number % 5}.txt").parent.mkdir(exist_ok=True)
        (project / f"notes/{number % 5}.txt").write_text(lines)
        git(project, "add", "notes")
        git(project, "commit", "-qm", f"Record change {number}\n\nIt follows change {number - 1}.", "notes")
    matches("long_history", prompt(project, "What happened in @git:30?", window=6_000))


def test_a_message_with_a_file_that_hardly_fits(project: Path) -> None:
    steps = (
        f"\n\ndef step_{n}(total: int) -> int:\n" + "    total += 1\n" * (n % 4 * 6 + 1) + "    return total\n"
        for n in range(9)
    )
    (project / "src/app.py").write_text(APP + "".join(steps))
    matches("unfolded", prompt(project, "Explain @file:src/app.py.", window=1_000))


def test_a_message_with_a_page(project: Path) -> None:
    page = "<title>Guide</title><main><h1>Guide</h1><p>Use <b>one</b> tool.</p><pre>```\nescape?</pre></main>"
    with Loopback({"/guide": answer(page)}) as server:
        text = prompt(project, f"Summarise @url:{server.url('/guide')}", allow_hosts=[server.host])
    text = text.replace(f"{server.host}:{server.port}", "wiki.example")
    # The boundary is a hash over the address, which has another port in every run, and not always of equal cost.
    text = re.sub(r"external [0-9a-f]{16}", "external 0123456789abcdef", text)
    text = re.sub(r"\d+ tokens", "some tokens", text)
    matches("url", text.replace(f"{datetime.now(UTC):%Y-%m-%d}", "2026-01-02"))


def test_a_message_without_references_is_sent_as_it_is(project: Path) -> None:
    with Promptuary.open(project, exact=True) as promptuary:
        expansion = promptuary.expand("Mail me@example.com about @types/node and action@v4.\n")

    sent = "Mail me@example.com about @types/node and action@v4.\n"
    assert expansion.messages == ({"role": "user", "content": sent},)
    assert expansion.spend.injected == 0

