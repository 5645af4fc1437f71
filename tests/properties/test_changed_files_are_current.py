"""Whatever happens to tracked files between turns: who reads a prompt as it says has what the files are now."""

from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given, settings
from hypothesis import strategies as st

from promptuary.blocking import Promptuary
from tests.conftest import TORTURE
from tests.current_files import current_files
from tests.properties.test_turn_properties import cost_of

LONG = [f"line {number} of a file, and some words more\n" for number in range(30)]
PIECES = st.sampled_from(
    ["x\n", "", "## a.md {#a-md}\n", "# Changed Files\n", "```\n", "+1\n", "-1\n", "日本\n", "\u2028", "no line feed"]
)
EDITS = st.one_of(
    st.tuples(st.just("insert"), st.integers(0, 30), PIECES),
    st.tuples(st.just("delete"), st.integers(0, 30), st.just("")),
    st.tuples(st.just("write"), st.just(0), PIECES),
    st.tuples(st.just("remove"), st.just(0), st.just("")),
)
TURNS = st.lists(
    st.dictionaries(st.sampled_from(["a.md", "b.py"]), EDITS, max_size=2), min_size=1, max_size=4 if not TORTURE else 20
)


def edit(path: Path, what: str, place: int, text: str) -> None:
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True) if path.exists() else list(LONG)
    match what:
        case "insert":
            lines.insert(place, text)
        case "delete":
            del lines[place : place + 1]
        case "write":
            lines = [text]
        case _:
            path.unlink(missing_ok=True)
            return
    path.write_bytes("".join(lines).encode())


def expected(path: Path) -> str:
    """Return a file as blocks show it."""
    text = path.read_text(encoding="utf-8").replace("\u2028", "⟨U+2028⟩")
    return text if text.endswith("\n") or not text else f"{text}\n"


@settings(max_examples=10 if not TORTURE else 1_000)
@given(TURNS, st.sampled_from([None, 3_000]))
def test_the_current_content_is_told_once_and_every_prompt_fits(
    turns: list[dict[str, tuple[str, int, str]]], window: int | None
) -> None:
    with TemporaryDirectory() as name:
        folder = Path(name)
        for one in ("a.md", "b.py"):
            (folder / one).write_text("".join(LONG), encoding="utf-8")
        with Promptuary.open(folder, exact=True, embedder="none", window=window or 100_000) as promptuary:
            first = promptuary.threads.prepare("Look at #a.md and #b.py. " + "And at nothing else. " * 40)
            promptuary.threads.finish(first, "Done. " * 200)
            for edits in turns:
                for one, (what, place, text) in edits.items():
                    edit(folder / one, what, place, text)
                turn = promptuary.threads.prepare("And now?")
                promptuary.threads.finish(turn, "Done.")

                assert turn.receipt.tokens == cost_of(turn.messages)
                assert turn.receipt.tokens <= turn.receipt.window - turn.receipt.reserve
                if all(entry.detail in {"full", "path"} for entry in turn.receipt.entries if entry.layer != "history"):
                    found = current_files(turn.messages)
                    for one in ("a.md", "b.py"):
                        if (folder / one).exists():
                            assert found[one] == expected(folder / one)
                        else:
                            assert found[one].startswith(f"[FILE DELETED: {one}]")
