"""``python -m tests.net.compare A B``: print how two recordings differ; exit code 1 if they do."""

import argparse
import difflib
import sys
from collections.abc import Iterator
from pathlib import Path


def differences(before: Path, after: Path) -> Iterator[str]:
    """Yield the lines of a readable diff, file by file."""
    names = {file.relative_to(folder) for folder in (before, after) for file in folder.rglob("*.txt")}
    for name in sorted(names):
        old, new = before / name, after / name
        if not new.exists():
            yield f"only in {before}: {name}"
        elif not old.exists():
            yield f"only in {after}: {name}"
        elif old.read_bytes() != new.read_bytes():
            was, now = (one.read_text(encoding="utf-8").split("\n") for one in (old, new))
            yield from difflib.unified_diff(was, now, str(old), str(new), lineterm="", n=2)
            yield ""


def main() -> int:
    parser = argparse.ArgumentParser(description="Print how two recordings differ.")
    parser.add_argument("before", type=Path)
    parser.add_argument("after", type=Path)
    parser.add_argument("--only", help="compare only this part: cli, turns, mcp, signatures")
    options = parser.parse_args()
    before, after = (one / (options.only or "") for one in (options.before, options.after))
    for folder in (before, after):
        if not folder.is_dir():
            parser.error(f"{folder} is no folder; make a recording with python -m tests.net.record {folder}")
    found = list(differences(before, after))
    print("\n".join(found) if found else "no difference")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
