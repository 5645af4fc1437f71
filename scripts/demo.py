"""The main job, on this very repository: no network, no model."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
SHOWN = 34
MESSAGE = (
    "Review @file:src/promptuary/core/budget.py:6-22 and @symbol:Counter.count in the light of #docs/references.md.\n"
    "The rest is in @folder:src/promptuary/core, the last change in @git:1; mail me@example.com about it.\n"
    "And what is in @file:../../etc/passwd and @file:.env?"
)


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
    print(
        "\nTry next:\n\n"
        "    .venv/bin/promptuary expand 'Explain @diff'            what you are working on\n"
        "    .venv/bin/promptuary expand --json 'Sum up @README.md' for programs\n"
        "    .venv/bin/promptuary complete 'look at @file:read'     what a menu would offer\n"
        "    docs/references.md                                     every kind of reference\n"
    )
    return 0 if done.returncode == 1 and "PATH_TRAVERSAL" in done.stderr else 1


if __name__ == "__main__":
    sys.exit(main())
