"""Records a chat as an SVG: runs the real program in a pseudo-terminal, against the scripted service on loopback.

    python scripts/record_chat.py docs/chat.svg

Every frame is what a terminal emulator shows at that moment; the frames follow one another by CSS, so the picture
needs no script and plays wherever SVG is shown.
"""

import html
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyte

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT)]

from promptuary.base.messages import ToolCall  # noqa: E402  (the path is set above)
from promptuary.testing.chat_server import ChatServer, Says  # noqa: E402
from tests.interaction.pseudo_terminal import PseudoTerminal  # noqa: E402

COLUMNS, ROWS = 108, 34
CELL, LINE, MARGIN = 8.4, 18, 14
COLOURS = {
    "default": "#d4d4d4",
    "black": "#707070",
    "red": "#f07178",
    "green": "#a5d6a7",
    "brown": "#ffcb6b",
    "yellow": "#ffcb6b",
    "blue": "#82aaff",
    "magenta": "#c792ea",
    "cyan": "#89ddff",
    "white": "#eeeeee",
    "brightblack": "#8b8f98",
}
pyte.graphics.FG_ANSI[2] = "brightblack"  # the emulator knows no faint text
FETCH = '''"""Fetches pages."""

import time

from wire import get

TIMEOUT = 30


def fetch(url: str, tries: int = 3) -> bytes:
    """Return the body of ``url``."""
    for number in range(tries):
        try:
            return get(url, timeout=TIMEOUT)
        except TimeoutError:
            time.sleep(2**number)
    raise TimeoutError(url)
'''
STYLE = "# Style\n\nNames say what a thing is.\nTimeouts are arguments, never constants.\n"
FILES = {
    "src/fetch.py": FETCH,
    "src/wire.py": "def get(): ...\n",
    "src/fetch_many.py": FETCH.replace("pages", "many pages").replace("fetch(", "fetch_many("),
    "tests/test_fetch.py": "from src.fetch import fetch\n\n\ndef test_fetch() -> None:\n    assert fetch\n",
    "docs/fetching.md": "# Fetching\n\nPages are fetched three times at most.\n",
    "docs/style.md": STYLE,
}
ANSWER = (
    "Not quite. docs/style.md says that timeouts are arguments, never constants,\n"
    "and line 7 of src/fetch.py still has TIMEOUT = 30. Make it an argument:\n\n"
    "    def fetch(url: str, *, timeout: float, tries: int = 3) -> bytes:\n"
)


@dataclass(frozen=True)
class Frame:
    """A screen, and for how many seconds it is shown."""

    rows: tuple[tuple[tuple[str, str, str, bool], ...], ...]
    cursor: tuple[int, int]
    seconds: float


class Recorder:
    """Presses keys as a person does, and keeps what the screen shows."""

    def __init__(self, terminal: PseudoTerminal) -> None:
        self.terminal, self.frames = terminal, list[Frame]()

    def settle(self, seconds: float) -> None:
        """Let the program go on for a while."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.terminal.read(0.02)

    def shoot(self, seconds: float) -> None:
        """Keep the screen as it is now."""
        screen: Any = self.terminal.screen
        rows = tuple(tuple(_cell(screen.buffer[y][x]) for x in range(COLUMNS)) for y in range(ROWS))
        frame = Frame(rows, (screen.cursor.x, screen.cursor.y), seconds)
        if self.frames and self.frames[-1].rows == rows:
            before = self.frames.pop()
            frame = Frame(rows, frame.cursor, before.seconds + seconds)
        self.frames.append(frame)

    def type(self, text: str, pace: float = 0.09) -> None:
        """Press the keys of ``text``."""
        for char in text:
            self.terminal.press(char)
            self.settle(0.08)
            self.shoot(pace)

    def stream(self, until: str, step: float = 0.12) -> None:
        """Keep what appears, until a text is there."""
        while until not in self.terminal.everything:
            self.settle(0.1)
            self.shoot(step)


def _cell(char: Any) -> tuple[str, str, str, bool]:
    fore, back = (char.bg, char.fg) if char.reverse else (char.fg, char.bg)
    return char.data, _colour(fore, "default"), _colour(back, ""), bool(char.bold)


def _colour(name: str, default: str) -> str:
    if name == "default":
        return COLOURS["default"] if default else ""
    known = COLOURS.get(name) or COLOURS.get(name.removeprefix("bright"))
    return known or (f"#{name}" if len(name) == 6 else COLOURS["default"])


def record(folder: Path) -> list[Frame]:
    """Return the frames of a chat in a small project."""
    home, project = folder / "home", folder / "project"
    for name, text in FILES.items():
        (project / name).parent.mkdir(parents=True, exist_ok=True)
        (project / name).write_text(text, encoding="utf-8")
    subprocess.run(["git", "init", "-q", "."], cwd=project, check=True)
    look = ToolCall("1", "read_file", '{"path": "src/wire.py"}')
    replies = [Says("", calls=[look], usage=(1_420, 18, 0)), Says(ANSWER, pause=0.06, usage=(1_610, 74, 1_280))]
    with ChatServer(replies) as server:
        settings = home / ".config/promptuary/config.toml"
        settings.parent.mkdir(parents=True)
        settings.write_text(
            f'answer_model = "gpt-5-mini"\n[models.gpt-5-mini]\nbase_url = "{server.openai_url}"\n'
            'model = "gpt-5-mini"\nwindow = 16000\n',
            encoding="utf-8",
        )
        environment = {name: "" for name in os.environ if name.startswith(("XDG_", "PROMPTUARY_"))} | {
            "HOME": str(home)
        }
        with PseudoTerminal(
            ["chat", "--thread", "review"], folder=project, environment=environment, rows=ROWS, columns=COLUMNS
        ) as terminal:
            return _played(Recorder(terminal))


def _played(one: Recorder) -> list[Frame]:
    terminal = one.terminal
    terminal.expect("┼")
    one.settle(1.0)
    one.shoot(1.0)
    one.type("Does @fet")
    terminal.expect("tokens", count=2)
    one.settle(0.5)
    one.shoot(1.2)
    one.type("\t\r", 0.4)
    one.type("follow @sty")
    terminal.expect("docs/style.md")
    one.settle(0.5)
    one.shoot(0.8)
    one.type("\t\r", 0.3)
    one.settle(1.0)
    one.shoot(1.6)
    one.type("\r")
    one.stream(" s]")
    one.settle(0.4)
    one.shoot(2.2)
    one.type("/why", 0.15)
    one.type("\r")
    terminal.expect("free ")
    one.settle(0.6)
    one.shoot(5.0)
    return one.frames


def svg(frames: list[Frame]) -> str:
    """Return the frames as one animated SVG."""
    total = sum(frame.seconds for frame in frames)
    width, height = COLUMNS * CELL + 2 * MARGIN, ROWS * LINE + 2 * MARGIN + 22
    rules, groups, begun = [], [], 0.0
    for number, frame in enumerate(frames):
        start, end = begun / total * 100, (begun + frame.seconds) / total * 100
        begun += frame.seconds
        last = number == len(frames) - 1
        if number:
            rules.append(
                f"@keyframes f{number}{{0%,{start:.3f}%{{opacity:0}}{start:.3f}%,{end:.3f}%{{opacity:1}}"
                + ("}" if last else f"{end:.3f}%,100%{{opacity:0}}}}")
            )
        else:
            rules.append(f"@keyframes f0{{0%,{end:.3f}%{{opacity:1}}{end:.3f}%,100%{{opacity:0}}}}")
        rules.append(f"#f{number}{{animation:f{number} {total:.1f}s step-end infinite}}")
        # Where nothing is animated, the last frame is shown.
        groups.append(f'<g id="f{number}" opacity="{int(last)}">{_drawn(frame)}</g>')
    dots = "".join(
        f'<circle cx="{20 + 18 * n}" cy="16" r="5" fill="{c}"/>'
        for n, c in enumerate(("#ff5f57", "#febc2e", "#28c840"))
    )
    font = "ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" '
        f'role="img" aria-label="A chat in the terminal: a menu of references, the token meter, an answer, and /why">'
        f"<style>text{{font:13.6px {font};white-space:pre}}.b{{font-weight:bold}}g rect{{shape-rendering:crispEdges}}"
        f"{''.join(rules)}</style>"
        f'<rect width="100%" height="100%" rx="8" fill="#1b1d23"/>{dots}'
        f'<g fill="{COLOURS["default"]}">{"".join(groups)}</g></svg>\n'
    )


def _drawn(frame: Frame) -> str:
    parts = []
    for y, row in enumerate(frame.rows):
        top = MARGIN + 22 + y * LINE
        for x, run in _runs(row):
            text = "".join(cell[0] for cell in run)
            _, fore, back, bold = run[0]
            left, wide = MARGIN + x * CELL, len(run) * CELL
            if back:
                parts.append(f'<rect x="{left:.1f}" y="{top}" width="{wide:.1f}" height="{LINE}" fill="{back}"/>')
            if text.strip():
                style = (f' fill="{fore}"' if fore != COLOURS["default"] else "") + (' class="b"' if bold else "")
                parts.append(
                    f'<text x="{left:.1f}" y="{top + 13}" textLength="{wide:.1f}" lengthAdjust="spacingAndGlyphs"'
                    f'{style} xml:space="preserve">{html.escape(text)}</text>'
                )
    x, y = frame.cursor
    parts.append(
        f'<rect x="{MARGIN + x * CELL:.1f}" y="{MARGIN + 22 + y * LINE}" width="{CELL}" height="{LINE}" fill="#d4d4d4" '
        'fill-opacity=".55"/>'
    )
    return "".join(parts)


def _runs(row: tuple[tuple[str, str, str, bool], ...]) -> list[tuple[int, list[tuple[str, str, str, bool]]]]:
    """Return the parts of a row that look the same, each with its first column, without blank ones."""
    runs: list[tuple[int, list[tuple[str, str, str, bool]]]] = []
    for x, cell in enumerate(row):
        if runs and runs[-1][1][-1][1:] == cell[1:] and runs[-1][0] + len(runs[-1][1]) == x:
            runs[-1][1].append(cell)
        else:
            runs.append((x, [cell]))
    kept = []
    for x, run in runs:
        while run and not run[-1][2] and run[-1][0] == " ":
            run.pop()
        start = 0
        while start < len(run) and not run[start][2] and run[start][0] == " ":
            start += 1
        if run[start:]:
            kept.append((x + start, run[start:]))
    return kept


def main() -> None:
    """Record, and write the picture."""
    target = Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "docs/chat.svg")
    with tempfile.TemporaryDirectory() as folder:
        frames = record(Path(folder))
    target.write_text(svg(frames), encoding="utf-8")
    print(
        f"{target}: {len(frames)} frames, {sum(one.seconds for one in frames):.0f} s, {target.stat().st_size:,} bytes"
    )


if __name__ == "__main__":
    main()
