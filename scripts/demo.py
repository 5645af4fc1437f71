"""The main job, on this very repository: no network, no model."""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from promptuary.blocking import Promptuary

ROOT = Path(__file__).parents[1]
SHOWN = 34
MESSAGE = (
    "Review @file:src/promptuary/base/budget.py:6-22 and @symbol:Counter.count in the light of #docs/references.md.\n"
    "The rest is in @folder:src/promptuary/base, the last change in @git:1; mail me@example.com about it.\n"
    "And what is in @file:../../etc/passwd and @file:.env?"
)


def thread() -> str:
    """Return the account of the second turn of a small thread, in a folder that is gone afterwards."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "AGENTS.md").write_text("Be brief.\n", encoding="utf-8")
        Path(folder, "app.py").write_text("def main() -> int:\n    return 1\n", encoding="utf-8")
        with Promptuary.open(folder, exact=True) as promptuary:
            first = promptuary.threads.prepare("What does #app.py do?", thread="demo")
            promptuary.threads.finish(first, "It returns 1.")
            return promptuary.threads.prepare("And how would @file:AGENTS.md have it?", thread="demo").receipt.explain()


def memory() -> str:
    """Remember two things, and return the account of a turn that needs one of them; nothing of it is left."""
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "HOME": folder, "XDG_STATE_HOME": folder, "XDG_DATA_HOME": folder}
        environment |= {"PROMPTUARY_EMBEDDER": "none"}
        told = []
        for command in (
            ["remember", "We decided to release on the first Monday of a month."],
            ["remember", "I prefer tabs over spaces."],
            ["expand", "--thread", "demo", "On which Monday do we release?"],
        ):
            program = [sys.executable, "-m", "promptuary", *command, "--workspace", folder]
            done = subprocess.run(program, cwd=folder, env=environment, capture_output=True, text=True, check=True)
            shown = done.stderr if command[0] == "expand" else done.stdout
            told += [f"$ promptuary {' '.join(command)}", *shown.splitlines(), ""]
        return "\n".join(told)


def search(question: str) -> str:
    """Index a copy of the documents, by words alone, and return what a search prints."""
    with tempfile.TemporaryDirectory() as folder:
        notes = Path(folder, "notes")
        shutil.copytree(ROOT / "docs", notes)
        environment = {**os.environ, "XDG_STATE_HOME": folder, "PROMPTUARY_EMBEDDER": "none"}
        told = []
        for command in (["index", "."], ["search", "--limit", "2", question]):
            program = [sys.executable, "-m", "promptuary", *command, "--workspace", str(notes)]
            done = subprocess.run(program, cwd=notes, env=environment, capture_output=True, text=True, check=True)
            told += [f"$ promptuary {' '.join(command)}", *done.stdout.splitlines(), ""]
        return "\n".join(told)


def main() -> int:
    """Expand one message and show what happened."""
    print("A message, as a person writes it:\n")
    print("\n".join(f"    {line}" for line in MESSAGE.split("\n")))
    command = [sys.executable, "-m", "promptuary", "expand", "--workspace", str(ROOT), MESSAGE]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    lines = done.stdout.splitlines()
    print(f"\nWhat would be sent to the model ({len(lines)} lines, the first {SHOWN}):\n")
    print("\n".join(f"    {line}" for line in lines[:SHOWN]))
    print("    ...\n\nWhat went in, what it costs, and what was refused and why:\n")
    print("\n".join(f"    {line}" for line in done.stderr.splitlines()))
    print("\nAnd a thread: instructions and files stay in view, and all of it is accounted for:\n")
    print("\n".join(f"    {line}" for line in thread().splitlines()))
    print("\nAnd what is remembered, as files that a person can read, edit and forget:\n")
    print("\n".join(f"    {line}" for line in memory().splitlines()))
    print("\nAnd a folder of notes, searched by words (with the extra embeddings, by meaning too):\n")
    print("\n".join(f"    {line}" for line in search("what is shown when content does not fit").splitlines()))
    print(
        "\nTry next:\n\n"
        "    .venv/bin/promptuary expand 'Explain @diff'            what you are working on\n"
        "    .venv/bin/promptuary expand --json 'Sum up @README.md' for programs\n"
        "    .venv/bin/promptuary ask 'Explain @diff'               what a model would get; --model NAME asks it\n"
        "    .venv/bin/promptuary chat                              a conversation, with menus and a token meter\n"
        "    .venv/bin/promptuary complete 'look at @file:read'     what a menu would offer\n"
        "    .venv/bin/promptuary expand --thread t 'Sum up #README.md'  a turn of a thread\n"
        "    .venv/bin/promptuary index . && .venv/bin/promptuary search 'how are budgets shared'\n"
        "    .venv/bin/promptuary remember 'We release on Mondays'  kept as a Markdown file\n"
        "    .venv/bin/promptuary install claude-code               all of it in your coding agent; it asks first\n"
        "    docs/tutorial.md                                       ten minutes, step by step\n"
    )
    return 0 if done.returncode == 1 and "PATH_TRAVERSAL" in done.stderr else 1


if __name__ == "__main__":
    sys.exit(main())
