"""The five main views as somebody sees them, light and dark. ``make screenshots`` keeps them, in ``docs/page``."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal

import pytest

from promptuary.blocking import Promptuary
from promptuary.client import BlockingClient
from promptuary.testing.chat_server import ChatServer, Says
from tests.conftest import Files
from tests.server.browser import chromium, needs_chromium, page_of
from tests.server.conftest import StartServer
from tests.server.visitors import Visitor

if TYPE_CHECKING:
    from collections.abc import Sequence

    from promptuary.memory.values import NoteKind

IS_WANTED: Final = bool(os.environ.get("PROMPTUARY_SCREENSHOTS"))
SHOTS: Final = Path(__file__).parents[2] / "docs/page"
SIZE: Final = {"width": 1200, "height": 780}
MAX_BYTES: Final = 120_000
VIEWS: Final = {
    "turns": "/turns",
    "turn": "/turns/review/2",
    "memory": "/memory",
    "search": "/search?q=how+long+may+a+fetch+take",
    "thread": "/threads/release",
}

FILES: Final = {
    "README.md": "# Atlas\n\nAtlas fetches maps, keeps them, and draws them.\n\n" + "It has a cache of tiles.\n" * 20,
    "docs/style.md": "# Style\n\nNames are plain words. Functions are short.\nEvery wait has a timeout.\n",
    "docs/release.md": "# Release\n\n1. `make check`\n2. Tag, then push the tag.\n3. Tell the channel.\n" * 3,
    "src/fetch.py": (
        "TIMEOUT = 30\n\n\ndef fetch(url: str) -> bytes:\n"
        '    """Return the body of a page. A fetch may take thirty seconds."""\n'
        "    return urlopen(url, timeout=TIMEOUT).read()\n"
    ),
    "src/tiles.py": "".join(
        f"def tile_{n}(x: int, y: int) -> Tile:\n    return read(x, y, {n})\n\n\n" for n in range(60)
    ),
    "data/places.csv": "name,lat,lon\n" + "".join(f"place {n},{n / 7:.4f},{n / 9:.4f}\n" for n in range(4_000)),
}
NOTES: "Final[tuple[tuple[NoteKind, str, str, Sequence[str]], ...]]" = (
    ("user", "Short answers", "Ada wants answers of a few sentences, with the code first.", ["style"]),
    ("project", "Releases are made on Mondays", "Never before a holiday. Bo has the key of the registry.", ["release"]),
    ("project", "A fetch may take thirty seconds", "The maps of the coast are slow; longer waits block the queue.", []),
    ("feedback", "No abbreviations in names", "Bo asked for it in the review of the tile cache.", ["style"]),
    ("reference", "Tiles are numbered from the north west", "As in the standard of the map service.", ["tiles"]),
)


def fill(p: BlockingClient) -> None:
    """Say, remember and learn what the views show."""
    for kind, title, text, tags in NOTES:
        p.memory.write(text, title=title, kind=kind, tags=tags)
    p.experiences.add("task_solution", "release a version", {"steps": "make check, tag, push"}, tags=["release"])
    p.experiences.add("error_recovery", "a fetch hangs", {"fix": "give urlopen a timeout"}, tags=["fetch"])
    p.threads.attach("#docs/style.md", thread="review")
    for thread, text, reply in (
        ("tiles", "Which tiles does @file:README.md promise?", "Those of the cache."),
        ("review", "Does @file:src/fetch.py follow our style?", "Yes: it is short, and the wait has a timeout."),
        (
            "review",
            "And @file:src/tiles.py? Compare with @file:data/places.csv and @file:docs/old-style.md",
            (
                "It repeats itself: **one function** with the level as a parameter would do.\n\n"
                "- `tile_0` to `tile_59` differ in a number only\n- none of them has a docstring"
            ),
        ),
        (
            "release",
            "What is left before Monday's release? @file:docs/release.md",
            (
                "Three steps are left:\n\n1. `make check`, which also runs the slow tests\n2. tag, and push the tag\n"
                "3. tell the channel\n\nBo has the key of the registry."
            ),
        ),
        (
            "release",
            "Write the line for the changelog",
            "```\n- A fetch that takes longer than thirty seconds fails, and says which address was slow.\n```",
        ),
    ):
        p.threads.finish(p.threads.prepare(text, thread=thread), reply)
    p.threads.prepare("How long may a fetch take, and who decided that?", thread="questions")


@needs_chromium
@pytest.mark.timeout(180)
def test_the_main_views_are_small_pictures_in_light_and_dark(
    start_server: StartServer, files: Files, workspace: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    shots = SHOTS if IS_WANTED else tmp_path
    shots.mkdir(exist_ok=True)
    files(FILES)
    with Promptuary.open(workspace) as here:
        here.search.index(".")
        if IS_WANTED:  # it takes long, and the pictures of others need it
            here.search.embed()
    with ChatServer([Says("It rains.")]) as model, chromium() as browser:
        monkeypatch.setenv("OPENAI_BASE_URL", model.openai_url)
        monkeypatch.setenv("OPENAI_API_KEY", "key-of-the-server")
        visitor = Visitor(start_server(settings={"answer_model": "gpt-5-mini", "window": 6_000, "reply_reserve": 800}))
        with BlockingClient(visitor.server.base, token=visitor.secret) as p:
            fill(p)
        schemes: tuple[Literal["light", "dark"], ...] = ("light", "dark")
        for scheme in schemes:
            with page_of(browser, visitor.server.base, visitor.cookie, viewport=SIZE, color_scheme=scheme) as page:
                for name, path in VIEWS.items():
                    page.goto(path)
                    page.wait_for_selector("main h1, main form")
                    file = shots / f"{name}-{scheme}.png"
                    page.screenshot(path=file)
                    assert 10_000 < file.stat().st_size <= MAX_BYTES, file.name
