"""Whatever is tracked, and however small the budget: the recall fits, parses back, and keeps its order."""

import asyncio
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given
from hypothesis import strategies as st

from promptuary.base.budget import TokenCounter
from promptuary.layers.layer import Incoming, LayerContext, Recall, RecallRequest
from promptuary.layers.tracked.layer import TrackedFiles
from promptuary.tokens.counting import Counter
from promptuary.workspace.access import Access
from promptuary.workspace.workspace import open_workspace

NAMES = [
    "a.py",
    "b.md",
    "src/a-b.ts",
    "src/a_b.ts",
    "src/a/b.ts",
    "my notes.txt",
    "bad.exe",
    ".env",
    "Dockerfile",
    "日本.md",
]
PIECES = st.one_of(
    st.text(max_size=60),
    st.sampled_from(
        ["```", "`````\n", "\n", "\r\n", "~~~\n", "## fake {#fake}\n", "# Referenced Files\n\n", "[FILE DELETED: x]"]
    ),
    st.sampled_from(
        ["omitted: x\n", "\u2028", "\x1b", "word " * 80, "line\n" * 60, "x" * 900, "def f():\n    pass\n" * 30]
    ),
)
CONTENTS = st.one_of(st.none(), st.lists(PIECES, max_size=12).map("".join), st.just("\x00\x01"))
FILES = st.dictionaries(st.sampled_from(NAMES), CONTENTS, min_size=1)
MESSAGES = st.sampled_from(["look at", "why does the word line fail in def f", "fake"])


class Rough:
    """A counter in which the whole costs more than its parts: no budget can be kept by adding up."""

    def count(self, text: str) -> int:
        return -(-len(text) // 4) + 7 * text.count("\n\n##")


@contextmanager
def tracked(
    files: dict[str, str | None], message: str, counter: TokenCounter
) -> Iterator[tuple[TrackedFiles, LayerContext]]:
    with TemporaryDirectory() as folder:
        for name, content in files.items():
            path = Path(folder) / name
            path.parent.mkdir(parents=True, exist_ok=True)
            if content is not None:
                path.write_bytes(content.encode("utf-8", "replace"))
        workspace = open_workspace(Path(folder), Access(), follow_symlinks=False)
        layer = TrackedFiles(workspace)
        context = LayerContext("t", "t", None, counter, 128_000)
        text = " ".join([message, *(f'#"{name}"' for name in files)])
        asyncio.run(layer.on_message(Incoming(text, text), context))
        yield layer, context
        workspace.close()


def recalled(layer: TrackedFiles, context: LayerContext, budget: int) -> Recall:
    return asyncio.run(layer.recall(RecallRequest("", budget), context)) or Recall()


def blocks(text: str) -> list[str]:
    """Return the headings of the blocks, as a reader finds them who skips fences."""
    found, lines, index = [], text.split("\n"), 0
    while index < len(lines):
        if lines[index].startswith("## "):
            found.append(lines[index])
        elif fence := re.fullmatch(r"(`{3,})\w*", lines[index]):
            index = next(n for n in range(index + 1, len(lines)) if lines[n] == fence[1])
        else:
            assert not lines[index].startswith(("`", "# ")) or lines[index] == "# Referenced Files"
        index += 1
    return found


COUNTER = Counter()


@given(FILES, MESSAGES, st.integers(0, 2_000), st.sampled_from([COUNTER, Rough()]))
def test_a_recall_fits_parses_back_and_keeps_the_order_of_priority(
    files: dict[str, str | None], message: str, budget: int, counter: TokenCounter
) -> None:
    with tracked(files, message, counter) as (layer, context):
        recall = recalled(layer, context, budget)
        order = [one.path for one in layer.listed(context.state, counter)]
        slugs = (context.state or {"slugs": {}})["slugs"]

    assert counter.count(recall.text) <= budget
    shown = [block.source.label for block in recall.blocks if block.source.label in slugs]
    assert blocks(recall.text) == [f"## {label} {{#{slugs[label]}}}" for label in shown]
    assert shown == [label for label in order if label in shown]
    assert sorted(shown + [one.label for one in recall.omitted]) == sorted(order)


@given(FILES, st.integers(0, 2_000))
def test_a_restored_thread_reads_the_same_bytes(files: dict[str, str | None], budget: int) -> None:
    with tracked(files, "look", COUNTER) as (layer, context):
        first = recalled(layer, context, budget).text
        again = LayerContext("other", "other", context.state, COUNTER, 128_000)

        assert recalled(layer, again, budget).text == first
        assert asyncio.run(layer.on_message(Incoming("go on", "go on"), again)) is None


@given(FILES)
def test_a_rewritten_message_is_rewritten_no_further(files: dict[str, str | None]) -> None:
    with tracked(files, "look", COUNTER) as (layer, context):
        text = " ".join(f'#"{name}"' for name in files)
        once = asyncio.run(layer.on_message(Incoming(text, text), context))
        rewritten = once.text if once and once.text else text

        assert asyncio.run(layer.on_message(Incoming(rewritten, rewritten), context)) is None
