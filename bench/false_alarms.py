"""How often ordinary text is taken for a slip: the lines of the documents and commit messages of repositories.

``python -m bench.false_alarms REPO/.git …`` (also bare ones); ``-v`` prints each line with an alarm. Every line is
expanded as a message of its own, in a copy of the files that the repository has at HEAD: without the file around it, so
that code blocks count as prose, and with paths that exist. Nothing of this text was meant as a reference.

Most marks in such text are issue numbers, so the lines with an ``@`` are counted apart. ``--code`` reads every text
file, which has far more of them: decorators, annotations, scopes, at-rules, tags of comments.
"""

import argparse
import re
import subprocess
import tarfile
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path

from promptuary.blocking import Promptuary

ALLOWED = 1 / 1_000
_DOCUMENT = re.compile(
    r"(?i)(?:^|/)(?:docs?/.*|[^/]*)\.(?:md|mdx|rst|txt|markdown|adoc)$|(?:^|/)(?:readme|changes)[^/]*$"
)
_MAX_FILE = 1 << 20


@dataclass
class Count:
    """The lines of one repository: all, those with an ``@`` and with a ``#``, and the alarms with what they say."""

    name: str
    lines: int = 0
    at: int = 0
    hashed: int = 0
    alarms: list[tuple[str, str]] = field(default_factory=list)

    def __str__(self) -> str:
        rate = len(self.alarms) / max(self.lines, 1)
        return (
            f"{self.name:<24}{self.lines:>10,} lines{self.at:>8,} with @{self.hashed:>8,} with #"
            f"{len(self.alarms):>6,} alarms{1000 * rate:>8.3f} in 1,000"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("repositories", nargs="+", type=Path, help="git directories")
    parser.add_argument("-v", "--verbose", action="store_true", help="print each alarm")
    parser.add_argument("--code", action="store_true", help="read every text file, not only documents")
    parser.add_argument("--commits", type=int, default=5_000, help="how many commit messages are read at most")
    options = parser.parse_args()
    counts = [_measured(one, options.commits, code=options.code) for one in options.repositories]
    for count in counts:
        print(count)
        for line, alarm in count.alarms if options.verbose else ():
            print(f"    {line[:150]}\n        {alarm}")
    total = Count("total")
    for one in counts:
        total.lines, total.at, total.hashed = total.lines + one.lines, total.at + one.at, total.hashed + one.hashed
        total.alarms += one.alarms
    print(total)
    if len(total.alarms) >= ALLOWED * total.lines:
        raise SystemExit(f"more than {ALLOWED * 1000:g} in 1,000")


def _measured(repository: Path, commits: int, *, code: bool) -> Count:
    count = Count(repository.resolve().parent.name)
    known: dict[str, str] = {}
    with tempfile.TemporaryDirectory() as folder:
        packed = _git(repository, "archive", "HEAD")
        with tarfile.open(fileobj=BytesIO(packed)) as tree:
            tree.extractall(folder, filter="data")
        with Promptuary.open(folder) as promptuary:
            for line in _lines(repository, Path(folder), commits, code=code):
                count.lines += 1
                count.at += "@" in line
                count.hashed += "#" in line
                if line not in known:
                    expansion = promptuary.expand(line)
                    known[line] = "; ".join(expansion.warnings) or "failed" if expansion.incomplete else ""
                if known[line]:
                    count.alarms.append((line, known[line]))
    return count


def _lines(repository: Path, folder: Path, commits: int, *, code: bool) -> Iterator[str]:
    for path in sorted(one for one in folder.rglob("*") if one.is_file() and not one.is_symlink()):
        wanted = code or _DOCUMENT.search(path.relative_to(folder).as_posix())
        if wanted and path.stat().st_size <= _MAX_FILE and b"\0" not in (content := path.read_bytes()):
            yield from content.decode("utf-8", "replace").splitlines()
    messages = _git(repository, "log", f"-n{commits}", "--format=%B")
    yield from messages.decode("utf-8", "replace").splitlines()


def _git(repository: Path, *arguments: str) -> bytes:
    return subprocess.run(["git", "--git-dir", str(repository), *arguments], check=True, capture_output=True).stdout


if __name__ == "__main__":
    main()
