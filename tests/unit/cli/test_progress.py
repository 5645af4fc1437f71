"""The line that says how far a piece of work is: on a terminal gone in the end, elsewhere one every few seconds."""

import io

import pytest

from promptuary.cli import progress as module
from promptuary.cli.progress import ProgressLine, duration


class Terminal(io.StringIO):
    """A terminal of some columns, which remembers everything that was written and can show what is to be seen."""

    def __init__(self, *, tty: bool = True) -> None:
        super().__init__()
        self.tty = tty

    def isatty(self) -> bool:
        return self.tty

    @property
    def screen(self) -> str:
        """The line as a person sees it after everything that was written."""
        cells: list[str] = []
        place = 0
        for char in self.getvalue():
            if char == "\r":
                place = 0
                continue
            cells[place : place + 1] = [char]
            place += 1
        return "".join(cells).rstrip()


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def width(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    columns = [60]
    monkeypatch.setattr(module, "columns", lambda _: columns[0])
    monkeypatch.setenv("TERM", "xterm")
    return columns


def test_the_line_says_how_many_how_fast_and_how_long(clock: Clock, width: list[int]) -> None:
    terminal = Terminal()
    progress = ProgressLine(terminal, "files", clock=clock)
    progress(0, 5_310)
    clock.now += 1.0
    progress(812, 5_310)
    assert terminal.screen == "812 of 5,310 files  812/s  5.5 s left"

    width[0] = 100
    clock.now += 1.0
    progress(1_624, 5_310)
    assert terminal.screen == "[######..............]  1,624 of 5,310 files  812/s  4.5 s left"


@pytest.mark.usefixtures("width")
def test_nothing_is_left_of_it_in_the_end(clock: Clock) -> None:
    terminal = Terminal()
    with ProgressLine(terminal, "files", clock=clock) as progress:
        progress.say("looking at the files, which may take a while")
        assert terminal.screen.startswith("looking at the files")
        progress(1, 9)
        clock.now += 1.0
        progress(2, 9)
        assert terminal.screen == "2 of 9 files  1.0/s  7.0 s left"
    assert terminal.screen == ""
    assert terminal.getvalue().endswith("\r")
    assert "\n" not in terminal.getvalue()
    assert "\x1b" not in terminal.getvalue()


@pytest.mark.usefixtures("width")
def test_it_is_drawn_ten_times_a_second_at_most(clock: Clock) -> None:
    terminal = Terminal()
    progress = ProgressLine(terminal, "files", clock=clock)
    for done in range(1_000):
        clock.now += 0.001
        progress(done, 1_000)

    assert 8 <= terminal.getvalue().count(" of 1,000") <= 10


@pytest.mark.usefixtures("width")
def test_a_second_folder_begins_at_its_own_beginning(clock: Clock) -> None:
    terminal = Terminal()
    progress = ProgressLine(terminal, "files", clock=clock)
    for done in (0, 500, 1_000):
        clock.now += 1.0
        progress(done, 1_000)
    clock.now += 1.0
    progress(1, 20)
    assert terminal.screen == "1 of 20 files"
    clock.now += 1.0
    progress(3, 20)
    assert terminal.screen == "3 of 20 files  2.0/s  8.5 s left"


@pytest.mark.usefixtures("width")
def test_the_rate_is_that_of_the_last_seconds(clock: Clock) -> None:
    terminal = Terminal()
    progress = ProgressLine(terminal, "chunks", clock=clock)
    progress(0, 2_000)
    for second in range(1, 21):
        clock.now += 1.0
        progress(1_000 if second == 1 else 1_000 + second * 10, 2_000)

    assert terminal.screen == "1,200 of 2,000 chunks  10/s  80 s left"


@pytest.mark.usefixtures("width")
def test_the_rate_may_be_measured_over_a_longer_time(clock: Clock) -> None:
    terminal = Terminal()
    progress = ProgressLine(terminal, "chunks", looks_back=60.0, clock=clock)
    progress(0, 2_000)
    for second in range(1, 21):
        clock.now += 1.0
        progress(second * 5 if second <= 10 else 50 + (second - 10) * 15, 2_000)

    assert terminal.screen == "200 of 2,000 chunks  10/s  3 min left"


@pytest.mark.parametrize("columns", [1, 5, 12, 24])
def test_it_never_fills_the_last_column(clock: Clock, width: list[int], columns: int) -> None:
    width[0] = columns
    terminal = Terminal()
    progress = ProgressLine(terminal, "files", clock=clock)
    progress.say("looking at the files")
    progress(1, 100_000)
    clock.now += 1.0
    progress(70_000, 100_000)

    assert all(len(line) < max(columns, 2) for line in terminal.getvalue().split("\r"))


@pytest.mark.usefixtures("width")
def test_without_a_terminal_there_is_a_line_every_few_seconds(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    def use(terminal: Terminal, *, shown: bool = True) -> str:
        with ProgressLine(terminal, "files", shown=shown, clock=clock) as progress:
            progress.say("looking")
            progress(1, 9)
            clock.now += 2.0
            progress(2, 9)
            clock.now += 4.0
            progress(4, 9)
        return terminal.getvalue()

    assert use(Terminal()) != ""
    assert use(Terminal(tty=False)) == "4 of 9 files  0.5/s  10 s left\n"
    assert use(Terminal(), shown=False) == ""
    assert use(Terminal(tty=False), shown=False) == ""
    monkeypatch.setenv("TERM", "dumb")
    assert use(Terminal()) == "4 of 9 files  0.5/s  10 s left\n"


@pytest.mark.usefixtures("width")
def test_a_terminal_that_is_gone_does_not_stop_the_work(clock: Clock) -> None:
    class Gone(Terminal):
        def write(self, _: str) -> int:
            raise OSError(5, "Input/output error")

    with ProgressLine(Gone(), "files", clock=clock) as progress:
        progress(1, 9)
        clock.now += 9.0
        progress(2, 9)


@pytest.mark.parametrize(
    ("seconds", "told"),
    [
        (0.04, "0.0 s"),
        (0.84, "0.8 s"),
        (9.94, "9.9 s"),
        (9.96, "10 s"),
        (119.4, "119 s"),
        (119.6, "2 min"),
        (3_569, "59 min"),
        (3_571, "1 h"),
        (7_500, "2 h 5 min"),
    ],
)
def test_a_time_is_told_as_people_read_it(seconds: float, told: str) -> None:
    assert duration(seconds) == told
