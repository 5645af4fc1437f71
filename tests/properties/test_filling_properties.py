"""What does not fit whole fills the room it has, of every kind, whatever the size of source and room."""

import json
import random
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from promptuary.base.blocks import Source, Trust
from promptuary.blocking import Promptuary
from promptuary.references.detail import best_within, whole
from promptuary.testing.loopback import Loopback, answer
from promptuary.tokens.counting import Counter
from tests.conftest import TORTURE, git

pytestmark = pytest.mark.torture

COUNTER = Counter()
WORDS = ("budget", "window", "layer", "thread", "index", "symbol", "folder", "commit", "reference", "message", "prompt")


def prose(chance: random.Random, words: int) -> str:
    return " ".join(chance.choices(WORDS, k=words))


def python(chance: random.Random, classes: int) -> str:
    parts = [f'"""{prose(chance, 12)}."""\n\nimport sys\n\nLIMIT = {chance.randint(1, 999)}\n']
    for number in range(classes):
        parts.append(f"\n\nclass Class{number}:\n    # {prose(chance, 8)}\n")
        for method in range(chance.randint(1, 6)):
            body = "".join(f"        {prose(chance, 1)} = {n}\n" for n in range(chance.choice([1, 2, 5, 60])))
            parts.append(f"\n    def method_{method}(self, {prose(chance, 1)}: int) -> None:\n{body}")
    return "".join(parts)


def markdown(chance: random.Random, sections: int) -> str:
    parts = ["# Guide\n\n"]
    for number in range(sections):
        level = chance.choice(["##", "##", "###", "####"])
        text = "\n\n".join(prose(chance, chance.choice([5, 40, 200])) for _ in range(chance.randint(1, 4)))
        parts.append(f"{level} Section {number}\n\n{text}\n\n")
    return "".join(parts)


def contents(chance: random.Random) -> dict[str, str]:
    """Return files of many shapes: code, documents, long lines, one line, blank lines, hardly any structure."""
    found = {
        "code/large.py": python(chance, 120),
        "code/one_body.py": "import sys\n\n\ndef run():\n"
        + "".join(f"    x = {n}  # {prose(chance, 9)}\n" for n in range(3_000)),
        "code/flat.py": "".join(f"def f{n}(): return {n}\n" for n in range(3_000)),
        "docs/guide.md": markdown(chance, 150),
        "docs/prose.txt": "".join(f"{prose(chance, chance.randint(1, 30))}\n" for _ in range(3_000)),
        "docs/paragraphs.txt": "".join(f"{prose(chance, 400)}\n\n" for _ in range(60)),
        "data/one_line.json": json.dumps([dict.fromkeys(WORDS, n) for n in range(2_000)]),
        "data/wide.csv": "a,b\n" + ",".join(map(str, range(30_000))) + "\nlast,line\n",
        "data/mixed.txt": "short\n" + "word " * 9_000 + "\nshort again\n" + "more words " * 9_000 + "\nend\n",
        "data/japanese.txt": "".join("これは長い文章です。" * chance.randint(1, 9) + "\n" for _ in range(600)),
        "web/min.js": "".join(f"function f{n}(a){{return a+{n}}};" for n in range(4_000)),
        "web/page.ts": "".join(
            f"export function part{n}(x: number): number {{\n"
            + "  x += 1;\n" * chance.randint(1, 20)
            + "  return x;\n}\n"
            for n in range(400)
        ),
    }
    for number in range(240):
        depth = "/".join(f"level{n}{chance.randint(0, 3)}" for n in range(chance.randint(0, 4)))
        found[f"many/{depth}/module_{number}.py".replace("//", "/")] = python(chance, chance.choice([1, 1, 2, 6]))
    return found


def edited(text: str, chance: random.Random) -> str:
    lines = text.split("\n")
    for _ in range(max(len(lines) // 30, 1)):
        lines[chance.randrange(len(lines))] += f"  # {prose(chance, 6)}"
    return "\n".join(lines)


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Make a repository with a history and with uncommitted changes of many sizes."""
    root, chance = tmp_path_factory.mktemp("filling"), random.Random(5)
    found = contents(chance)

    def write(names: list[str]) -> None:
        for name in names:
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(found[name], encoding="utf-8")

    with pytest.MonkeyPatch.context() as patch:
        for role in ("AUTHOR", "COMMITTER"):
            patch.setenv(f"GIT_{role}_NAME", "Ada")
            patch.setenv(f"GIT_{role}_EMAIL", "ada@example.com")
        git(root, "init", "-q", "-b", "main")
        git(root, "config", "gc.auto", "0")
        write(list(found))
        git(root, "add", ".")
        git(root, "commit", "-qm", "Begin")
        for number in range(30):
            names = chance.sample(sorted(found), chance.choice([1, 2, 12]))
            found.update((name, edited(found[name], chance)) for name in names)
            write(names)
            git(root, "commit", "-qam", f"Change {prose(chance, 4)}\n\n{prose(chance, 40)} {number}")
        names = chance.sample(sorted(found), 40)
        found.update((name, edited(found[name], chance)) for name in names)
        write(names)
        (root / "untracked.txt").write_text("".join(f"{prose(chance, 12)}\n" for _ in range(400)), encoding="utf-8")
        yield root


@pytest.fixture(scope="module")
def page() -> Iterator[Loopback]:
    chance = random.Random(6)
    parts = "".join(f"<h2>Part {n}</h2><p>{prose(chance, 150)}</p>" for n in range(120))
    long = f"<p>{prose(chance, 20_000)}</p>"
    with Loopback(
        {"/guide": answer(f"<title>Guide</title><main><h1>Guide</h1>{parts}</main>"), "/long": answer(long)}
    ) as server:
        yield server


REFERENCES = [
    *(f"@file:code/{name}" for name in ("large.py", "one_body.py", "flat.py", "large.py:1-2000")),
    *(f"@file:docs/{name}" for name in ("guide.md", "prose.txt", "paragraphs.txt")),
    *(f"@file:data/{name}" for name in ("one_line.json", "wide.csv", "mixed.txt", "japanese.txt")),
    *(f"@file:web/{name}" for name in ("min.js", "page.ts")),
    *("@folder:.", "@folder:many", "@folder:many:contents", "@glob:**/*.py", "@glob:{code,docs}/*", "@glob:data/*"),
    *("@diff", "@status", "@git:1", "@git:5", "@git:30", "@git:HEAD~9..HEAD", "@commit:HEAD", "@commit:HEAD~30"),
    *("@symbol:Class7", "@symbol:run", "@symbol:method_0", '@search:"budget window"', "@url:guide", "@url:long"),
    *("@file:code/large.py @file:docs/guide.md @folder:many", "@file:data/mixed.txt @glob:docs/* @git:3"),
]


@pytest.fixture(scope="module")
def costs(project: Path, page: Loopback) -> dict[str, int]:
    """Return what each reference costs in full."""
    with Promptuary.open(project, exact=True, window=100_000_000, allow_hosts=[page.host], embedder="none") as one:
        one.search.index([project])
        return {reference: one.expand(addressed(reference, page)).spend.injected for reference in REFERENCES}


def addressed(reference: str, page: Loopback) -> str:
    return reference.replace("@url:", f"@url:{page.url('/')}")


@pytest.mark.parametrize("reference", REFERENCES)
def test_four_fifths_of_the_room_are_used_where_the_source_is_larger(
    reference: str, project: Path, page: Loopback, costs: dict[str, int]
) -> None:
    @settings(max_examples=200 if TORTURE else 3)
    @given(st.one_of(st.sampled_from([500, 1_000, 2_000, 4_000, 16_000]), st.integers(500, 64_000)))
    def fills(limit: int) -> None:
        hosts = [page.host]
        with Promptuary.open(project, exact=True, window=2 * limit, allow_hosts=hosts, embedder="none") as one:
            if "@search" in reference:
                one.search.index([project])  # who searches is another person in every test
            spend = one.expand(addressed(reference, page)).spend

        assert spend.injected <= limit
        assert spend.injected >= 0.8 * min(limit, costs[reference]), f"{spend.injected:,} of {limit:,}"

    fills()


LINES = st.one_of(
    st.sampled_from(["", "x", "def a():", "    pass", "class B:", "# Heading", "word " * 40, "y" * 3_000, "語" * 90]),
    st.text(max_size=60),
)


@given(st.lists(LINES, min_size=1, max_size=80).map("\n".join), st.data(), st.sampled_from(list(Trust)))
def test_a_source_with_any_text_and_any_outline_fills_its_room(text: str, data: st.DataObject, trust: Trust) -> None:
    text = text * data.draw(st.integers(1, 30))
    outline = data.draw(st.one_of(st.none(), st.integers(0, len(text)).map(lambda end: text[:end])))
    source = Source(
        "k",
        "a.txt",
        "file",
        text,
        "0" * 64,
        first_line=1,
        trust=trust,
        outlines=lambda: [outline] if outline else [],
    )
    full = whole(source, COUNTER)
    budget = data.draw(st.integers(500, max(full.tokens, 500)))
    block = best_within(source, budget, COUNTER, full)

    assert block
    assert 0.8 * min(budget, full.tokens) <= block.tokens <= budget
