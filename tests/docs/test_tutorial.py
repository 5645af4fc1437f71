"""The tutorial: its commands are run in one shell, in order, and print what the page says."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from msgspec import Struct

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "tutorial.md").read_text(encoding="utf-8")
README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.compile(r"^(`{3,})(console|python)\n(.*?)^\1$", re.MULTILINE | re.DOTALL)
END = "<<'END'"


class Step(Struct, frozen=True):
    command: str
    output: Sequence[str]


def steps(block: str) -> Iterator[Step]:
    """Yield the commands of a block, each with the lines after it; what ``<<'END'`` reads is part of it."""
    for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
        command, _, rest = part.partition("\n")
        if END in command:
            text, _, rest = rest.partition("\nEND\n")
            command = f"{command}\n{text}\nEND"
        yield Step(command, rest.splitlines())


def tutorial() -> Sequence[Step]:
    """Return every step of the page; code in Python is a command, too, whose output the page does not show."""
    found: list[Step] = []
    for _, language, block in BLOCKS.findall(PAGE):
        found += steps(block) if language == "console" else [Step(f"python - {END}\n{block}END", ["…"])]
    return found


def run(commands: Sequence[str], folder: Path) -> Sequence[tuple[int, list[str], list[str]]]:
    """Run commands in one shell; return the exit code of each, and its lines on standard output and standard error."""
    results = folder / "results"
    results.mkdir()
    lines = [
        f"{{ {command}\n}} > '{results}/{number}.out' 2> '{results}/{number}.err'; echo $? > '{results}/{number}.code'"
        for number, command in enumerate(commands)
    ]
    environment = os.environ | {
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "PROMPTUARY_EMBEDDER": "none",  # as after the plain install that the page begins with
    }
    subprocess.run(["bash", "-c", "\n".join(lines)], cwd=folder, env=environment, check=True)

    def text(number: int, kind: str) -> str:
        return (results / f"{number}.{kind}").read_text(encoding="utf-8")

    return [
        (int(text(number, "code")), text(number, "out").splitlines(), text(number, "err").splitlines())
        for number in range(len(commands))
    ]


def missing_line(expected: Sequence[str], out: list[str], err: list[str]) -> str | None:
    """Take the expected lines from the front of either output; return the first in neither, or what is left."""
    for line in expected:
        if line == "…":
            return None
        pattern = re.compile(".*".join(map(re.escape, line.split("…"))))
        for lines in (out, err):
            if lines and pattern.fullmatch(lines[0]):
                del lines[0]
                break
        else:
            return line
    return "\n".join(out + err) or None


def test_every_command_of_the_tutorial_prints_what_the_page_says(tmp_path: Path) -> None:
    expected = tutorial()
    results = run([step.command for step in expected], tmp_path)

    assert len(expected) > 25
    for step, (code, out, err) in zip(expected, results, strict=True):
        printed = "\n".join(out + err)
        assert code == 0, f"$ {step.command}\n{printed}"
        missing = missing_line(step.output, out, err)
        assert missing is None, f"$ {step.command}\nnot as on the page: {missing}\n{printed}"


def test_the_tutorial_is_one_page_that_takes_ten_minutes() -> None:
    assert len(PAGE.split()) < 1_600  # 160 words a minute, commands and output included


def test_the_example_of_the_readme_is_that_of_the_tutorial() -> None:
    (example,) = [block for _, language, block in BLOCKS.findall(README) if language == "console"]

    assert example in PAGE
