"""The order in which paths answer a query."""

import threading
from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest

from promptuary.workspace.listing.listing import folders_of
from promptuary.workspace.matching.grades import PathQuery, Tier
from promptuary.workspace.matching.ranker import PathMatch, Preferences, Ranker


@dataclass
class Fixed:
    """A listing that is what it is told to be."""

    paths: Sequence[str]
    complete: bool = True
    generation: int = 1
    folders: Sequence[str] = field(init=False)

    def __post_init__(self) -> None:
        self.folders = folders_of(self.paths)


def ranked(query: str, paths: Sequence[str], preferred: Preferences | None = None) -> list[str]:
    hits = Ranker(Fixed(sorted(paths))).rank(query, kinds=("file",), preferred=preferred)
    return [hit.path for hit in hits]


TABLE = [
    # query, the paths in the order expected
    (
        "config",
        ["lib/config.py", "config_loader.py", "app/user_config.py", "src/reconfigure.py", "config/z.py"],
    ),
    ("conf", ["src/conf.py", "src/config.py", "src/user_conf.py", "x/preconf.py", "conf/x.py"]),
    ("uc", ["a/uc.py", "a/uci.py", "deep/down/user_config.py", "a/truck.py"]),
    ("usco", ["x/user_service_config.py", "x/bus_core.py"]),
    ("UserConf", ["x/UserConfig.ts"]),
    ("hs", ["HTTPServer.java", "matchs.py"]),
    ("readme", ["README.md", "docs/README.md", "docs/readme_first.md"]),
    ("core/ref", ["core/references.py", "src/core/references.py", "src/core/references/kinds.py"]),
    ("src/", ["src/a.py", "src/zz.py", "src/deep/a.py"]),
    ("cr/ref", ["src/crate/ref.py"]),
    ("test ref", ["tests/test_references.py", "tests/references/common.py"]),
    ("pyproject.toml", ["pyproject.toml", "packages/a/pyproject.toml"]),
    ("./a.py", ["a.py"]),
    # The beginnings of folders and of the name, without a slash; fewer steps first, then those from a name's beginning.
    ("tuitran", ["tui_gateway/transport.py", "tui_gateway/x_transport.py", "t/u/it/run/a/n.py"]),
    ("conpoin", ["contrib/geos/point.py", "contrib/postgres/indexes.py"]),
    ("testsdefault_r", ["tests/models/default_related.py"]),
    # Folders in order: whole before begun, begun before inside.
    ("mig/grap", ["db/migrations/graph.py", "tests/migrations/test_graph.py", "emigrant/x/telegraph.py"]),
]


@pytest.mark.parametrize(("query", "expected"), TABLE, ids=[query for query, _ in TABLE])
def test_better_kinds_of_match_come_first(query: str, expected: list[str]) -> None:
    assert ranked(query, [*expected, "unrelated/zzz.bin"]) == expected


@pytest.mark.parametrize("typed", ["cofnig", "confgi", "confiig", "cinfig", "cnfig"])
def test_one_slip_of_the_finger_still_finds_the_file(typed: str) -> None:
    others = [f"src/module_{number}/file_{number}.py" for number in range(300)]

    assert ranked(typed, [*others, "cool/find_big_thing.py", "src/config.py"])[0] == "src/config.py"


@pytest.mark.parametrize(
    ("typed", "found"),
    [
        ("djnago/shortcuts", "django/shortcuts.py"),
        ("djago/shortcuts", "django/shortcuts.py"),
        ("djxngo/short", "django/shortcuts.py"),
        ("djjango/short", "django/shortcuts.py"),
        ("dos/huma", "docs/ref/contrib/humanize.txt"),
        ("docs/cotnrib/huma", "docs/ref/contrib/humanize.txt"),
        ("django/shrotcuts", "django/shortcuts.py"),
    ],
)
def test_one_slip_in_a_folder_or_in_the_name_behind_it_still_finds_the_file(typed: str, found: str) -> None:
    others = [f"src/module_{number}/shortcuts_{number}_humanized.py" for number in range(300)]

    assert (
        ranked(typed, [*others, "d/j/n/a/g/o/shortcuts.py", "django/shortcuts.py", "docs/ref/contrib/humanize.txt"])[0]
        == found
    )


def test_a_capital_letter_that_fits_nowhere_means_either_case() -> None:
    assert ranked("Readme", ["README.md", "docs/x.py"]) == ["README.md"]
    assert ranked("ReadMe", ["README.md", "docs/ReadMe.md"]) == ["docs/ReadMe.md"]


def test_small_letters_mean_either_case_and_capitals_mean_themselves() -> None:
    paths = ["a/makefile", "aa/Makefile"]

    assert ranked("makefile", paths) == ["a/makefile", "aa/Makefile"]
    assert ranked("Makefile", paths)[0] == "aa/Makefile"
    assert ranked("MF", ["a/memoffset.c", "a/MakeFile"]) == ["a/MakeFile"]


def test_between_equal_matches_changed_comes_first_then_use_then_depth_length_and_name() -> None:
    paths = ["b/app.py", "a/app.py", "aa/app.py", "deep/er/app.py", "c/app.py", "used/often/in/app.py"]
    preferred = Preferences(frozenset({"deep/er/app.py"}), {"used/often/in/app.py": 3.0, "c/app.py": 1.0})

    assert ranked("app", paths, preferred) == [
        "deep/er/app.py",
        "used/often/in/app.py",
        "c/app.py",
        "a/app.py",
        "b/app.py",
        "aa/app.py",
    ]


def test_use_does_not_lift_a_worse_kind_of_match() -> None:
    preferred = Preferences(frozenset({"x/preconf.py"}), {"x/preconf.py": 100.0})

    assert ranked("conf", ["src/conf.py", "x/preconf.py"], preferred)[0] == "src/conf.py"


def test_a_favourite_is_found_among_more_equal_matches_than_are_asked_for() -> None:
    paths = [f"{number:03}/app.py" for number in range(500)]

    assert ranked("app", paths, Preferences(used={"499/app.py": 1.0}))[0] == "499/app.py"


def test_a_favourite_that_is_gone_is_not_offered() -> None:
    assert ranked("app", ["a/app.py"], Preferences(frozenset({"gone/app.py"}), {"old/app.py": 1.0})) == ["a/app.py"]


def test_an_exact_name_is_found_behind_many_that_begin_so() -> None:
    paths = [f"a{number}.py" for number in range(500)] + ["very/deep/down/below/a.py"]

    assert ranked("a", paths)[0] == "very/deep/down/below/a.py"


@pytest.mark.parametrize("typed", ["unit/ap", "deep/unit/ap"])
def test_letters_on_both_sides_of_a_slash_are_found_behind_many_with_both_apart(typed: str) -> None:
    others = [f"deep/unit/x/app_{number}.py" for number in range(300)]

    assert ranked(typed, [*others, "src/very/much/deep/unit/app.py"])[0] == "src/very/much/deep/unit/app.py"


def test_folders_answer_too_and_alone_if_asked() -> None:
    ranker = Ranker(Fixed(["src/workspace/a.py", "docs/workspace.md"]))

    assert [(hit.path, hit.kind) for hit in ranker.rank("works")] == [
        ("src/workspace", "folder"),
        ("docs/workspace.md", "file"),
        ("src/workspace/a.py", "file"),
    ]
    assert [hit.path for hit in ranker.rank("works", kinds=("folder",))] == ["src/workspace"]


def test_the_matching_letters_are_told_in_characters_not_bytes() -> None:
    ranker = Ranker(Fixed(["日本/été/user_config.py"]))

    (hit,) = ranker.rank("conf", kinds=("file",))
    assert "".join(hit.path[index] for index in hit.positions) == "conf"
    (hit,) = ranker.rank("uscfg", kinds=("file",))
    assert "".join(hit.path[index] for index in hit.positions) == "uscfg"


def test_a_name_that_is_no_text_is_left_out_and_spoils_nothing() -> None:
    assert ranked("app", ["bad\udcff/app.py", "good/app.py"]) == ["good/app.py"]


@pytest.mark.parametrize("query", ["", " ", "/", "//", "\udcff", "a" * 5_000, "^$!'", "*", "\x00", "é"])
def test_any_query_is_answered(query: str) -> None:
    assert isinstance(ranked(query, ["a.py", "src/é.py"]), list)


def test_the_same_question_has_the_same_answer() -> None:
    paths = [f"src/{number % 7}/file_{number}.py" for number in range(300)]

    assert ranked("fil", paths) == ranked("fil", list(reversed(paths)))


def test_answers_for_fewer_are_the_beginning_of_answers_for_more() -> None:
    ranker = Ranker(Fixed(sorted(f"src/{number % 7}/file_{number}.py" for number in range(300))))

    assert ranker.rank("fil", limit=5) == ranker.rank("fil", limit=20)[:5]


def test_paths_that_come_while_scanning_are_found_at_once() -> None:
    listing = Fixed([], complete=False, generation=0)
    ranker = Ranker(listing)
    assert ranker.rank("app") == []

    listing.paths = ["src/app.py"]
    assert [hit.path for hit in ranker.rank("app")] == ["src/app.py"]
    assert ranker.rank("src", kinds=("folder",)) == [PathMatch("src", "folder", Tier.EXACT, (0, 1, 2))]

    listing.paths, listing.complete, listing.generation = ["lib/app.py"], True, 1
    assert [hit.path for hit in ranker.rank("app", kinds=("file",))] == ["lib/app.py"]


def test_a_large_listing_is_put_in_order_in_the_background() -> None:
    ranker = Ranker(Fixed([f"src/{number}.py" for number in range(21_000)]))
    ranker.wait_until_sorted()

    assert [hit.path for hit in ranker.rank("20999", limit=1)] == ["src/20999.py"]


def test_an_answer_is_partial_until_every_path_of_the_listing_was_looked_at() -> None:
    listing = Fixed([f"src/{number}.py" for number in range(21_000)], complete=False, generation=0)
    ranker = Ranker(listing)
    ranker.rank("1")
    assert ranker.is_partial

    listing.complete, listing.generation = True, 1
    ranker.wait_until_sorted()
    assert [hit.path for hit in ranker.rank("20999", limit=1)] == ["src/20999.py"]
    assert not ranker.is_partial


def test_a_growing_listing_is_taken_in_without_more_questions() -> None:
    listing = Fixed([f"src/{number}.py" for number in range(21_000)], complete=False, generation=0)
    ranker = Ranker(listing)
    ranker.rank("1")
    for thread in threading.enumerate():
        if thread.name == "promptuary-fill":
            thread.join(30)

    assert [hit.path for hit in ranker.rank("20999", limit=1)] == ["src/20999.py"]


def test_a_tier_is_told_for_every_kind_of_match() -> None:
    tiers = {
        path: PathQuery("conf").grade(path)[0] for path in ("a/conf.py", "a/config.py", "a/u_conf", "a/econf", "conf/a")
    }

    assert list(tiers.values()) == [Tier.EXACT, Tier.PREFIX, Tier.WORDS, Tier.SUBSTRING, Tier.PATH]


TYPED = [
    "config", "cofnig", "user_config", "UserConfig", "usrcfg", "src/config", "sr/cnofig", "src/deep/user", "/config",
    "deep//x", "user config", "us cofig", "été/conf", "conféé", "config.py", "zzqx", "deep/zzq", "./src/app",
]  # fmt: skip


@pytest.mark.parametrize("query", TYPED)
@pytest.mark.parametrize("limit", [3, 20])
def test_typing_letter_by_letter_answers_as_asking_at_once(query: str, limit: int) -> None:
    stems = ["config", "user_config", "UserConfig", "reconfigure", "app", "usual_cfg", "cofin", "confé", "x"]
    folders = ["src", "src/deep", "src/deep/user", "lib/config", "été", "src/configs/app", "cfg", "tests/unit"]
    paths = sorted(f"{folder}/{stem}_{n}.py" for folder in folders for stem in stems for n in range(40))
    listing = Fixed([*paths, *(f"{folder}/{stem}.py" for folder in folders for stem in stems)])
    typing = Ranker(listing)
    preferred = Preferences(frozenset(paths[::90]), dict.fromkeys(paths[::70], 1.0))
    letters = range(1, len(query) + 1)

    for end in [*letters, *reversed(letters)]:
        at_once = Ranker(listing).rank(query[:end], limit=limit, preferred=preferred)
        assert typing.rank(query[:end], limit=limit, preferred=preferred) == at_once


def test_what_typing_left_is_forgotten_when_paths_are_added() -> None:
    listing = Fixed([f"src/other_{number}.py" for number in range(300)], complete=False, generation=0)
    ranker = Ranker(listing)
    assert ranker.rank("app_conf") == []

    listing.paths = [*listing.paths, "src/app_config.py"]
    assert [hit.path for hit in ranker.rank("app_confi")] == ["src/app_config.py"]


def test_a_favourite_is_looked_up_in_a_large_listing() -> None:
    paths = [f"{number % 70}/{number}/app.py" for number in range(21_000)]
    ranker = Ranker(Fixed(paths))
    ranker.wait_until_sorted()

    for used, expected in (("69/20999/app.py", "69/20999/app.py"), ("70/21000/app.py", "0/0/app.py")):
        assert ranker.rank("app", preferred=Preferences(used={used: 1.0}), limit=1)[0].path == expected
