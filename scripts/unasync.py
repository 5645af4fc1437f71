"""Write ``blocking.py`` from ``engine.py``: the same interface without ``async``. ``make generate`` runs this.

The two differ in a few words only (below), since ``promptuary.calls`` has both ways to run a call under the same names.
"""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "src" / "promptuary" / "engine.py"
TARGET = ROOT / "src" / "promptuary" / "blocking.py"

DOCSTRING = '''"""``Promptuary`` without ``async``: the same methods, which return when they are done.

Synchronous work runs in the caller's thread. Turns need an event loop, since layers are asynchronous: it runs in a
separate thread, so a loop in the caller's thread (a notebook, an application) is neither needed nor a problem.

Generated from ``engine.py`` by ``make generate``: change that module instead.
"""
'''
WORDS = (
    (r"\basync (def|with|for)\b", r"\1"),
    (r"\bawait ", ""),
    (r"\b__a(enter|exit)__\b", r"__\1__"),
    (r"\bAsync([A-Z]\w*)", r"Blocking\1"),
    # What only the half without ``async`` promises.
    (
        r"Close the workspace and everything opened for it\.",
        "Close the workspace; running calls in other threads end with an error. Closing twice is harmless.",
    ),
    (
        r"(A workspace with everything that can be done in it, for one principal\.)",
        r"\1\n\n    May be used from several threads, also where an event loop is running.",
    ),
)
"""What is written in ``engine.py``, and what is written in its place."""


def blocking(source: str) -> str:
    """Return the text of ``blocking.py`` for that of ``engine.py``."""
    text = re.sub(r'\A""".*?"""\n', lambda _: DOCSTRING, source, flags=re.DOTALL)
    for pattern, replacement in WORDS:
        text = re.sub(pattern, replacement, text)
    command = [sys.executable, "-m", "ruff", "format", "--quiet", "--stdin-filename", str(TARGET), "-"]
    done = subprocess.run(command, input=text, capture_output=True, text=True, encoding="utf-8", check=True, cwd=ROOT)
    return done.stdout


if __name__ == "__main__":
    TARGET.write_text(blocking(SOURCE.read_text(encoding="utf-8")), encoding="utf-8")
