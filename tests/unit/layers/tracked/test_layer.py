"""Files kept in view: real files, a real workspace, and messages as people write them."""

import asyncio
import json
import os
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from promptuary.base.blocks import Detail
from promptuary.base.errors import Code, ConfigError, SourceError
from promptuary.layers.layer import Changed, Incoming, LayerContext, Recall, RecallRequest, check
from promptuary.layers.tracked.layer import TrackedFiles
from promptuary.testing.scripted import ScriptedModel
from promptuary.tokens.counting import Counter
from promptuary.workspace.access import Access
from promptuary.workspace.workspace import Workspace, open_workspace
from tests.conftest import Files

COUNTER = Counter()


@dataclass(slots=True)
class Thread:
    """A conversation with one layer."""

    layer: TrackedFiles
    context: LayerContext

    def say(self, text: str, original: str | None = None) -> Changed | None:
        message = Incoming(text, text if original is None else original)
        return asyncio.run(self.layer.on_message(message, self.context))

    def recall(self, budget: int = 10_000) -> Recall:
        found = asyncio.run(self.layer.recall(RecallRequest("", budget), self.context))
        assert found is not None
        assert COUNTER.count(found.text) <= budget
        return found

    @property
    def states(self) -> dict[str, str]:
        files = (self.context.state or {"files": []})["files"]
        return {file["path"] + file["suffix"]: file["code"] or file["state"] for file in files}

    def scores(self) -> dict[str, int]:
        return {file["path"]: file["score"] for file in self.context.state["files"]}


Talk = Callable[..., Thread]
"""Starts a thread with a layer of the given options."""


@pytest.fixture
def door(workspace: Path) -> Iterator[Workspace]:
    opened = open_workspace(workspace, Access(), follow_symlinks=False)
    yield opened
    opened.close()


@pytest.fixture
def talk(door: Workspace) -> Iterator[Talk]:
    started: list[TrackedFiles] = []

    def start(state: object = None, **options: Any) -> Thread:
        started.append(TrackedFiles(door, **options))
        return Thread(started[-1], LayerContext("t", "t", state, COUNTER, 128_000))

    yield start
    for layer in started:
        asyncio.run(layer.dispose())


def headings(recall: Recall) -> list[str]:
    return [block.source.label for block in recall.blocks]


def rewritten(change: Changed | None) -> str:
    assert change is not None
    assert change.text is not None
    return change.text


# What it is


def test_the_layer_stands_where_it_says(talk: Talk) -> None:
    layer = talk().layer
    check([layer])

    assert (layer.id, layer.slot, layer.scope, layer.budget, layer.band) == (
        "file_reference",
        350,
        "thread",
        "auto",
        "stable",
    )
    assert layer.timeouts == {"on_message": 30.0, "refresh": 30.0, "recall": 30.0}
    assert talk(slot=12).layer.slot == 12


def test_nothing_tracked_is_nothing_recalled(talk: Talk) -> None:
    thread = talk()

    assert thread.say("hello") is None
    assert thread.context.state is None
    assert asyncio.run(thread.layer.recall(RecallRequest("", 100), thread.context)) is None


# What counts as a reference, and how it is rewritten


def test_references_are_tracked_and_rewritten_to_links(files: Files, talk: Talk) -> None:
    files({"src/index.ts": "x\n", "package.json": "{}\n"})
    thread = talk()
    change = thread.say("Look at #src/index.ts and #package.json")

    assert change == Changed("Look at [#src/index.ts](#src-index-ts) and [#package.json](#package-json)", "immediate")
    assert thread.states == {"src/index.ts": "ok", "package.json": "ok"}


@pytest.mark.parametrize(
    "name", ["Dockerfile", "Makefile", ".gitignore", "docker/Dockerfile", "ünïcode/日本.md", "a+b.ts"]
)
def test_names_without_a_file_like_shape_count_if_they_exist(files: Files, talk: Talk, name: str) -> None:
    files({name: "x\n"})
    thread = talk()
    thread.say(f"see #{name}.")

    assert thread.states == {name: "ok"}


def test_a_path_with_blanks_goes_into_quotes(files: Files, talk: Talk) -> None:
    files({"my notes/a b.md": "1\n2\n3\n"})
    thread = talk()

    assert rewritten(thread.say('see #"my notes/a b.md".')) == 'see [#"my notes/a b.md"](#my-notes-a-b-md).'
    assert thread.states == {"my notes/a b.md": "ok"}


@pytest.mark.parametrize(
    "text",
    [
        "#hashtag #123 #region",
        "x#a.ts and C#net.core",
        "https://x.io/p#sec.html",
        "issue #1.2, #v1.2.3, colour #fff.css",
        "# a.ts",
        "#/etc/passwd.txt",
        "#~/x.txt",
        "`#a.ts`",
        "```\n#a.ts\n```",
        "\\#a.ts",
        "[#a.ts](#a-ts)",
        "#src",
    ],
)
def test_what_is_no_reference_stays_as_it_is(files: Files, talk: Talk, text: str) -> None:
    files({"a.ts": "x", "sec.html": "x", "src/b.ts": "x"})
    thread = talk()

    assert thread.say(text) is None
    assert thread.states == {}


def test_two_spellings_of_a_path_are_one_file(files: Files, talk: Talk) -> None:
    files({"config.json": "{}"})
    thread = talk()
    text = rewritten(thread.say("#config.json and #./config.json and #config.json"))

    assert text.count("(#config-json)") == 3
    assert list(thread.states) == ["config.json"]


def test_files_whose_slugs_collide_are_told_apart_for_ever(files: Files, talk: Talk) -> None:
    files({"a-b.ts": "1", "a_b.ts": "2", "a/b.ts": "3"})
    thread = talk()
    text = rewritten(thread.say("#a-b.ts #a_b.ts #a/b.ts"))
    slugs = re.findall(r"\]\(#([^)]+)\)", text)

    assert len(set(slugs)) == 3
    assert re.findall(r"^## \S+ \{#(.+)\}$", thread.recall().text, re.MULTILINE) == slugs
    thread.context.state = thread.layer.untrack(thread.context.state, "a-b.ts")
    assert rewritten(thread.say("again #a/b.ts #a-b.ts")) == f"again [#a/b.ts](#{slugs[2]}) [#a-b.ts](#{slugs[0]})"


def test_rewriting_a_rewritten_message_changes_nothing(files: Files, talk: Talk) -> None:
    files({"ok.ts": "x", "app/[id].tsx": "y"})
    thread = talk()
    once = rewritten(thread.say("#ok.ts and #app/[id].tsx"))

    assert once == "[#ok.ts](#ok-ts) and [#app/[id].tsx](#app-id-tsx)"
    assert thread.say(once) is None


def test_what_could_not_be_read_is_tracked_but_not_linked(files: Files, talk: Talk) -> None:
    files({"ok.ts": "x", "virus.exe": "x"})
    thread = talk()

    assert rewritten(thread.say("#src/nope.ts #virus.exe #ok.ts")) == "#src/nope.ts #virus.exe [#ok.ts](#ok-ts)"
    assert thread.states == {"src/nope.ts": "missing", "virus.exe": "DISALLOWED_EXTENSION", "ok.ts": "ok"}


def test_only_what_the_person_wrote_is_looked_into(files: Files, talk: Talk) -> None:
    files({"a.ts": "x", "secret.md": "y"})
    thread = talk()
    change = thread.say("attached: see #secret.md\n\nfix #a.ts", original="fix #a.ts")

    assert rewritten(change) == "attached: see #secret.md\n\nfix [#a.ts](#a-ts)"
    assert list(thread.states) == ["a.ts"]


def test_references_inside_a_tracked_file_are_not_followed(files: Files, talk: Talk) -> None:
    files({"a.md": "see #b.md\n", "b.md": "x\n"})
    thread = talk()
    thread.say("#a.md")
    thread.say("go on")

    assert list(thread.states) == ["a.md"]


def test_a_range_tracks_those_lines(files: Files, talk: Talk) -> None:
    root = files({"a.py": "".join(f"line {n}\n" for n in range(1, 31))})
    thread = talk()
    thread.say("see #a.py:10-12 and #a.py#L20")
    text = thread.recall().text

    assert list(thread.states) == ["a.py:10-12", "a.py:20"]
    assert "## a.py:10-12 {#a-py-10-12}" in text
    assert [line for line in text.split("\n") if line.startswith("line ")] == [
        "line 10",
        "line 11",
        "line 12",
        "line 20",
    ]
    (root / "a.py").write_text("short\n")
    assert thread.say("and now?") == Changed(None, "immediate")
    assert thread.states["a.py:10-12"] == "BAD_RANGE"
    (root / "a.py").write_text("")
    thread.say("and now?")
    assert set(thread.states.values()) == {"empty"}


def test_a_part_can_be_a_symbol(files: Files, talk: Talk) -> None:
    files({"a.py": "def one():\n    return 1\n\n\ndef two():\n    return 2\n"})
    thread = talk()
    thread.say("see #a.py#two")

    assert "return 2" in thread.recall().text
    assert "return 1" not in thread.recall().text


def test_naming_a_tracked_file_again_links_it_and_asks_for_nothing(files: Files, talk: Talk) -> None:
    files({"a.py": "x\n"})
    thread = talk()
    thread.say("#a.py")

    assert thread.say("again #a.py") == Changed("again [#a.py](#a-py)", None)


# What becomes of files


def test_a_change_asks_for_a_new_recall_and_no_change_for_nothing(files: Files, talk: Talk) -> None:
    root = files({"a.py": "old\n"})
    thread = talk()
    thread.say("#a.py")
    assert thread.say("more") is None
    (root / "a.py").write_text("new\n")

    assert thread.say("more") == Changed(None, "immediate")
    assert "new" in thread.recall().text


def test_a_deleted_file_that_comes_back_with_the_same_content_is_seen(files: Files, talk: Talk) -> None:
    root = files({"a.py": "same\n"})
    thread = talk()
    thread.say("#a.py")
    (root / "a.py").unlink()
    assert thread.say("1") == Changed(None, "immediate")
    assert "[FILE DELETED: a.py]" in thread.recall().text
    assert thread.say("2") is None
    (root / "a.py").write_text("same\n")

    assert thread.say("3") == Changed(None, "immediate")
    assert "same" in thread.recall().text


@pytest.mark.parametrize("name", ["later.ts", "Makefile.am.md", "later.ts:1-2", "later.py#run", "./later.ts"])
def test_a_file_at_the_root_that_is_missing_is_tracked_and_picked_up_when_it_appears(
    files: Files, talk: Talk, name: str
) -> None:
    thread = talk()
    thread.say(f"see #{name}, please")
    assert list(thread.states.values()) == ["missing"]
    assert "[MISSING: " in thread.recall().text

    path = re.split(r"[:#]", name)[0]
    files({path: "def run():\n    return 1\n"})
    thread.say("and now?")
    assert list(thread.states.values()) == ["ok"]
    assert "return 1" in thread.recall().text


@pytest.mark.parametrize(
    "text", ["#asp.net", "#v1.2", "#3.14", "#hashtag.", "#a.b.", "#1.5k", "#.ts", "#e.g.", "#fff.css"]
)
def test_a_hashtag_with_a_dot_is_text(talk: Talk, text: str) -> None:
    thread = talk()

    assert thread.say(f"this is {text} and more") is None
    assert thread.states == {}


def test_a_file_that_never_was_is_missing_and_not_deleted(files: Files, talk: Talk) -> None:
    root = files({"src/a.py": "x\n"})
    thread = talk()
    thread.say("fix #src/later.py please")
    assert "[MISSING: src/later.py]" in thread.recall().text
    assert "DELETED" not in thread.recall().text
    (root / "src/later.py").write_text("def later(): ...\n")

    assert thread.say("done?") == Changed(None, "immediate")
    assert thread.states == {"src/later.py": "ok"}


def test_an_emptied_file_shows_no_old_content_and_says_that_it_is_empty(files: Files, talk: Talk) -> None:
    root = files({"a.py": "secret plan\n", "born-empty.md": ""})
    thread = talk()
    thread.say("#a.py #born-empty.md")
    (root / "a.py").write_text("")

    assert thread.say("now?") == Changed(None, "immediate")
    text = thread.recall().text
    assert "secret plan" not in text
    assert text.count("file; empty") == 2


@pytest.mark.parametrize("obstacle", ["large", "link", "permission", "folder"])
def test_a_file_recovers_from_an_error_with_the_same_content(files: Files, talk: Talk, obstacle: str) -> None:
    root = files({"a.py": "content\n", "b.py": "other\n"})
    path = root / "a.py"
    thread = talk(max_file_size=100)
    thread.say("#a.py")
    if obstacle == "large":
        path.write_text("x" * 101)
    elif obstacle == "link":
        path.unlink()
        path.symlink_to("b.py")
    elif obstacle == "folder":
        path.unlink()
        path.mkdir()
    else:
        path.chmod(0)
        if os.access(path, os.R_OK):
            pytest.skip("this user may read everything")
    assert thread.say("1") == Changed(None, "immediate")
    code = {"large": "FILE_TOO_LARGE", "link": "SYMLINK", "folder": "NOT_A_FILE"}.get(obstacle, "PERMISSION_DENIED")
    assert thread.states == {"a.py": code}
    assert f"[ERROR {code}: " in thread.recall().text
    if path.is_dir() and not path.is_symlink():
        path.rmdir()
    else:
        path.unlink()
    path.write_text("content\n")

    assert thread.say("2") == Changed(None, "immediate")
    assert "content" in thread.recall().text


def test_one_error_that_becomes_another_is_seen(files: Files, talk: Talk) -> None:
    root = files({"a.py": "x" * 200, "b.py": "x"})
    thread = talk(max_file_size=100)
    thread.say("#a.py")
    assert thread.states == {"a.py": "FILE_TOO_LARGE"}
    (root / "a.py").unlink()
    (root / "a.py").symlink_to("b.py")

    assert thread.say("now?") == Changed(None, "immediate")
    assert thread.states == {"a.py": "SYMLINK"}


def test_a_deleted_file_that_comes_back_too_large_is_an_error(files: Files, talk: Talk) -> None:
    root = files({"a.py": "x"})
    thread = talk(max_file_size=100)
    thread.say("#a.py")
    (root / "a.py").unlink()
    thread.say("1")
    (root / "a.py").write_text("x" * 101)
    thread.say("2")

    assert thread.states == {"a.py": "FILE_TOO_LARGE"}
    assert "DELETED" not in thread.recall().text


def test_a_folder_or_a_path_through_a_file_loses_no_other_reference(files: Files, talk: Talk) -> None:
    root = files({"good.ts": "fine\n", "file.ts": "x\n"})
    (root / "src" / "dir.ts").mkdir(parents=True)
    thread = talk()
    text = rewritten(thread.say("#src/dir.ts #file.ts/x.ts #good.ts"))

    assert text.endswith("[#good.ts](#good-ts)")
    assert thread.states == {"src/dir.ts": "NOT_A_FILE", "file.ts/x.ts": "missing", "good.ts": "ok"}
    assert "fine" in thread.recall().text


# What may be read


def test_a_path_that_climbs_out_is_an_error_under_its_own_name(files: Files, talk: Talk) -> None:
    root = files({"a.ts": "x"})
    (root.parent / "outside.ts").write_text("stolen")
    thread = talk()
    thread.say("#../outside.ts and #a.ts")

    assert thread.states == {"../outside.ts": "PATH_TRAVERSAL", "a.ts": "ok"}
    assert "stolen" not in thread.recall().text


def test_exactly_the_limit_is_read_and_one_byte_more_is_not(files: Files, talk: Talk) -> None:
    files({"fits.txt": "x" * 100, "large.txt": "x" * 101, "default.txt": "x" * 101})
    thread = talk(max_file_size=100)
    thread.say("#fits.txt #large.txt")

    assert thread.states == {"fits.txt": "ok", "large.txt": "FILE_TOO_LARGE"}
    assert talk().say("#default.txt") is not None


@pytest.mark.parametrize("link", ["leaf.ts", "folder/a.ts", "one/two/three/a.ts"])
def test_links_are_refused_at_any_depth_unless_they_are_followed(files: Files, talk: Talk, link: str) -> None:
    root = files({"real/a.ts": "behind the link\n"})
    place = root / link
    if "/" in link:
        place = place.parent
    place.parent.mkdir(parents=True, exist_ok=True)
    place.symlink_to(os.path.relpath(root / ("real" if "/" in link else "real/a.ts"), place.parent))
    refused, followed = talk(), talk(follow_symlinks=True)
    refused.say(f"#{link}")
    followed.say(f"#{link}")

    assert refused.states == {link: "SYMLINK"}
    assert followed.states == {link: "ok"}
    assert "behind the link" in followed.recall().text


def test_a_link_that_leads_out_is_refused_even_if_links_are_followed(files: Files, talk: Talk) -> None:
    root = files({})
    (root.parent / "outside.ts").write_text("stolen")
    (root / "link.ts").symlink_to(root.parent / "outside.ts")
    thread = talk(follow_symlinks=True)
    thread.say("#link.ts")

    assert thread.states == {"link.ts": "SYMLINK"}


def test_secrets_are_never_shown_nor_given_to_the_scoring_model(files: Files, talk: Talk) -> None:
    files({".env": "KEY=hunter2\n", ".env.local": "KEY=hunter2\n", "conf/prod.env": "KEY=hunter2\n"})
    model = ScriptedModel(lambda _: "50")
    thread = talk(scoring_model=model)
    thread.say("#.env #.env.local #conf/prod.env")

    assert set(thread.states.values()) == {"SENSITIVE_PATH"}
    assert "hunter2" not in thread.recall().text
    assert model.asked == []


def test_binary_content_is_an_error_and_not_replacement_characters(files: Files, talk: Talk) -> None:
    files({"a.txt": b"\x89PNG\r\n\x1a\n\x00\x00\xff\xfe"})
    thread = talk()
    thread.say("#a.txt")

    assert thread.states == {"a.txt": "BINARY"}


def test_allowed_extensions_are_extensions_with_or_without_a_dot_and_whole_names(files: Files, talk: Talk) -> None:
    names = ["a.py", "a.TS", "Dockerfile", "Makefile", "a.md", ".gitignore"]
    files(dict.fromkeys(names, "x\n"))
    thread = talk(allowed_extensions=[".py", "ts", "Dockerfile"])
    thread.say(" ".join(f"#{name}" for name in names))

    assert [name for name, state in thread.states.items() if state == "ok"] == ["a.py", "a.TS", "Dockerfile"]
    assert set(thread.states.values()) == {"ok", "DISALLOWED_EXTENSION"}


def test_an_empty_list_of_extensions_is_a_mistake(talk: Talk) -> None:
    with pytest.raises(ConfigError, match="allowed_extensions is empty"):
        talk(allowed_extensions=[])


# Where paths are counted from


@pytest.mark.parametrize("base", [".", "./", None])
def test_the_base_is_the_workspace_by_default_and_by_a_dot(files: Files, talk: Talk, base: str | None) -> None:
    files({"sub/a.ts": "x"})
    thread = talk(base_dir=base)
    thread.say("#sub/a.ts")

    assert thread.states == {"sub/a.ts": "ok"}


def test_a_relative_base_is_counted_from_the_workspace_and_contains(files: Files, talk: Talk) -> None:
    files({"sub/a.ts": "x", "b.ts": "y"})
    thread = talk(base_dir="sub")
    thread.say("#a.ts and #../b.ts")

    assert thread.states == {"a.ts": "ok", "../b.ts": "PATH_TRAVERSAL"}


def test_the_root_of_the_file_system_can_be_the_base(files: Files, talk: Talk) -> None:
    root = files({"a.ts": "x"})
    thread = talk(base_dir="/")
    relative = root.resolve().relative_to("/").as_posix()
    thread.say(f"#{relative}/a.ts")

    assert list(thread.states) == [f"{relative}/a.ts"]
    if root.stat().st_dev == Path("/").stat().st_dev:
        assert thread.states == {f"{relative}/a.ts": "ok"}


def test_an_absolute_base_may_lie_behind_a_link(files: Files, talk: Talk, tmp_path: Path) -> None:
    root = files({"a.ts": "x"})
    (tmp_path / "link").symlink_to(root)
    thread = talk(base_dir=tmp_path / "link")
    thread.say("#a.ts")

    assert thread.states == {"a.ts": "ok"}


def test_a_relative_base_that_leaves_the_workspace_is_a_mistake(talk: Talk, workspace: Path) -> None:
    (workspace / "out").symlink_to(workspace.parent)
    for base in ("..", "sub/../..", "out"):
        with pytest.raises(ConfigError, match="leaves the workspace"):
            talk(base_dir=base)


@pytest.mark.parametrize("base", ["sub", "sub/../sub", "absolute", "/"])
def test_the_hint_how_to_read_on_is_counted_from_the_workspace(files: Files, talk: Talk, base: str) -> None:
    root = files({"sub/big.txt": "".join(f"line {n}\n" for n in range(3_000))}).resolve()
    thread = talk(base_dir=root / "sub" if base == "absolute" else base)
    thread.say("#big.txt" if base != "/" else f"#{root.relative_to('/').as_posix()}/sub/big.txt")
    if base == "/" and root.stat().st_dev != Path("/").stat().st_dev:
        pytest.skip("the workspace is on another file system")

    [block] = thread.recall(300).blocks
    assert re.search(r"read on with @file:sub/big\.txt:\d+-\d+\n", block.text)
    assert block.source.address == "file:sub/big.txt"
    assert "read on with @file:sub/big.txt:" in thread.recall(120).text


def test_there_is_no_hint_for_a_file_that_no_reference_reaches(files: Files, talk: Talk, tmp_path: Path) -> None:
    files({"big.txt": "another file of that name\n"})
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere/big.txt").write_text("".join(f"line {n}\n" for n in range(3_000)))
    thread = talk(base_dir=tmp_path / "elsewhere")
    thread.say("#big.txt")

    [block] = thread.recall(300).blocks
    assert "⋯ lines " in block.text
    assert "read on" not in block.text
    assert block.source.address == f"file:{(tmp_path / 'elsewhere').resolve()}/big.txt"


# Scoring


def test_the_file_that_the_message_is_about_comes_first(files: Files, talk: Talk) -> None:
    files({"a.py": "def invoice(): ...\n", "b.py": "def budget(): ...\n"})
    thread = talk()
    thread.say("given #a.py, why is the budget in #b.py wrong?")

    assert headings(thread.recall()) == ["b.py", "a.py"]


def test_the_reference_itself_counts_for_nothing(files: Files, talk: Talk) -> None:
    files({"alpha.py": "x = 1\n", "beta.py": "x = 1\n", "gamma.py": "x = 1\n"})
    thread = talk()
    thread.say("look at #alpha.py #beta.py #gamma.py")

    assert len(set(thread.scores().values())) == 1
    assert headings(thread.recall()) == ["alpha.py", "beta.py", "gamma.py"]


def test_with_a_model_each_new_or_changed_file_costs_one_question(files: Files, talk: Talk) -> None:
    root = files({"a.py": "x\n", "b.py": "y\n"})
    model = ScriptedModel(lambda messages: "90" if "File: b.py" in messages[-1]["content"] else "10")
    thread = talk(scoring_model=model)
    thread.say("compare #a.py #b.py")
    assert headings(thread.recall()) == ["b.py", "a.py"]
    thread.say("more")
    assert len(model.asked) == 2
    (root / "a.py").write_text("changed\n")
    thread.say("and now?")
    (root / "a.py").unlink()
    thread.say("and now?")
    (root / "a.py").write_text("changed\n")
    thread.say("back again")

    assert len(model.asked) == 3
    assert model.busiest == 2


def test_a_model_that_hangs_or_fails_loses_neither_files_nor_links(files: Files, talk: Talk) -> None:
    files({"a.py": "x\n", "b.py": "y\n"})
    for model in (ScriptedModel(lambda _: "9", delay=float("inf")), ScriptedModel(lambda _: RuntimeError("no"))):
        thread = talk(scoring_model=model, scoring_timeout=0.02)

        assert rewritten(thread.say("#a.py #b.py")) == "[#a.py](#a-py) [#b.py](#b-py)"
        assert thread.scores() == {"a.py": 50, "b.py": 50}
        assert all("the model" in block.reason for block in thread.recall().blocks)


def test_a_file_that_appears_later_is_judged_by_the_message_that_named_it(files: Files, talk: Talk) -> None:
    root = files({"src/other.py": "unrelated = 1\n"})
    thread = talk()
    thread.say("the invoice totals are wrong: #src/other.py #src/later.py")
    (root / "src/later.py").write_text("class Invoice: ...\n")
    thread.say("please continue")

    assert headings(thread.recall()) == ["src/later.py", "src/other.py"]


# What is recalled


def test_the_message_of_a_small_thread_reads_as_written_here(files: Files, talk: Talk) -> None:
    root = files({"a.py": "x = 1\n", "b/doc.md": "# T\n\n```sh\nls\n```\n", "gone.py": "z\n"})
    thread = talk()
    thread.say("#a.py #b/doc.md #gone.py #src/nope.py")
    (root / "gone.py").unlink()
    thread.say("go on")

    hashes = {file["path"]: file["sha256"][:12] for file in thread.context.state["files"]}
    assert thread.recall().text == (
        "# Referenced Files\n\n"
        f"## a.py {{#a-py}}\nfile; 1 line; sha256 {hashes['a.py']}\n\n```python\nx = 1\n```\n\n"
        f"## b/doc.md {{#b-doc-md}}\nfile; 5 lines; sha256 {hashes['b/doc.md']}\n\n"
        "````markdown\n# T\n\n```sh\nls\n```\n````\n\n"
        "## gone.py {#gone-py}\n[FILE DELETED: gone.py]\n\n"
        "## src/nope.py {#src-nope-py}\n[MISSING: src/nope.py]"
    )


def test_no_path_of_the_host_reaches_the_prompt(files: Files, talk: Talk) -> None:
    root = files({"a.py": "x\n", "b.exe": "x\n", "c.py": "x\n"})
    thread = talk()
    thread.say("#a.py #b.exe #c.py #src/nope.py #../up.py")
    (root / "c.py").unlink()
    thread.say("go on")

    assert str(root) not in thread.recall().text + json.dumps(thread.context.state)
    assert str(root.parent) not in thread.recall().text


def test_unchanged_files_read_the_same_bytes_turn_after_turn(files: Files, talk: Talk) -> None:
    root = files({"a.py": "x\n" * 50, "b.py": "y\n" * 50})
    thread = talk()
    thread.say("#a.py about #b.py")
    first = thread.recall(200)
    for turn in range(3):
        assert thread.say(f"turn {turn} with other words: y, b, budget") is None
        assert thread.recall(200) is first
    (root / "a.py").write_text("other\n")
    thread.say("changed")
    assert thread.recall(200).text != first.text
    (root / "a.py").write_text("x\n" * 50)
    thread.say("changed back")
    again = talk(state=json.loads(json.dumps(thread.context.state)))

    assert again.recall(200).text == thread.recall(200).text


def test_a_large_file_is_shown_by_head_and_tail_with_a_marker(files: Files, talk: Talk) -> None:
    files({"a.txt": "".join(f"row {n}\n" for n in range(1, 501))})
    thread = talk()
    thread.say("#a.txt")
    recall = thread.recall(200)

    assert recall.blocks[0].detail is Detail.EXCERPT
    assert "row 1\n" in recall.text
    assert "row 500\n" in recall.text
    assert re.search(r"⋯ lines \d+-\d+ left out ⋯", recall.text)


def test_a_single_long_line_is_shown_in_part(files: Files, talk: Talk) -> None:
    files({"min.js": "var a=1;" * 5_000})
    thread = talk()
    thread.say("#min.js")
    recall = thread.recall(200)

    assert "characters left out" in recall.text
    assert recall.text.count("var a=1;") > 20


def test_a_large_file_does_not_starve_the_others(files: Files, talk: Talk) -> None:
    files({"huge.txt": "budget budget budget\n" * 5_000, "small.txt": "tiny\n", "other.txt": "also tiny\n"})
    thread = talk()
    thread.say("the budget: #huge.txt #small.txt #other.txt")
    recall = thread.recall(300)

    assert headings(recall)[0] == "huge.txt"
    assert [block.detail for block in recall.blocks] == [Detail.EXCERPT, Detail.FULL, Detail.FULL]
    assert recall.omitted == ()


@pytest.mark.parametrize("budget", [0, 1, 5, 10, 15, 60, 80, 100, 150, 200])
def test_ten_files_never_cost_more_than_the_budget_and_none_vanishes_silently(
    files: Files, talk: Talk, budget: int
) -> None:
    names = [f"file{n}.py" for n in range(10)]
    files(dict.fromkeys(names, "value = 1\n" * 40))
    thread = talk()
    thread.say(" ".join(f"#{name}" for name in names))
    recall = thread.recall(budget)

    shown = [name for name in headings(recall) if name in names]
    assert shown + [one.label for one in recall.omitted] == names
    assert budget == 0 or all("did not fit" in one.reason for one in recall.omitted)


def test_what_is_omitted_is_named_in_one_last_line(files: Files, talk: Talk) -> None:
    files({f"file{n}.py": "value = 1\n" * 40 for n in range(6)})
    thread = talk()
    thread.say(" ".join(f"#file{n}.py" for n in range(6)))
    recall = thread.recall(150)

    assert recall.omitted
    assert recall.text.split("\n")[-1] == "omitted: " + ", ".join(one.label for one in recall.omitted)


def test_a_warning_costs_no_more_than_the_budget_either(files: Files, talk: Talk) -> None:
    files({})
    thread = talk()
    thread.say(" ".join(f"#src/nope{n}.py" for n in range(20)))

    for budget in range(0, 300, 7):
        thread.recall(budget)


def test_a_hostile_name_stays_on_its_line(files: Files, talk: Talk) -> None:
    name = "a```b ](x) \u200b.md"
    files({name: "x\n"})
    thread = talk()
    thread.say(f'#"{name}"')

    assert "## a```b ](x) ⟨U+200B⟩.md {#" in thread.recall().text


# How many


def test_more_files_than_the_limit_are_named_and_not_tracked(files: Files, talk: Talk) -> None:
    files({f"{n}.txt": "x\n" for n in range(6)})
    thread = talk(max_files=3)
    text = rewritten(thread.say(" ".join(f"#{n}.txt" for n in range(6))))
    recall = thread.recall()

    assert text.endswith("#3.txt #4.txt #5.txt")
    assert list(thread.states) == ["0.txt", "1.txt", "2.txt"]
    assert recall.text.endswith("not tracked, 3 files are the limit: 3.txt, 4.txt, 5.txt")
    assert [one.label for one in recall.omitted] == ["3.txt", "4.txt", "5.txt"]
    assert thread.say("and on") == Changed(None, "immediate")
    assert "not tracked" not in thread.recall().text


def test_a_hundred_files_are_the_limit_by_default(files: Files, talk: Talk) -> None:
    files({f"{n}.txt": "x\n" for n in range(102)})
    thread = talk()
    thread.say(" ".join(f"#{n}.txt" for n in range(102)))

    assert len(thread.states) == 100
    assert [one.label for one in thread.recall(3_000).omitted][-2:] == ["100.txt", "101.txt"]


# Restart and management


def test_the_state_survives_a_restart_and_is_checked_against_the_disk(files: Files, talk: Talk) -> None:
    root = files({"a.py": "old\n", "b.py": "stays\n"})
    first = talk()
    first.say("#a.py #b.py")
    state = json.loads(json.dumps(first.context.state))
    (root / "a.py").write_text("new\n")
    second = talk(state=state)

    assert second.say("hello again") == Changed(None, "immediate")
    assert "new" in second.recall().text
    assert "stays" in second.recall().text


def test_a_recall_right_after_a_restart_reads_the_files(files: Files, talk: Talk) -> None:
    root = files({"a.py": "old\n"})
    first = talk()
    first.say("#a.py")
    (root / "a.py").write_text("new\n")
    second = talk(state=json.loads(json.dumps(first.context.state)))

    assert "new" in second.recall().text
    assert second.context.state != first.context.state
    assert second.say("next") is None or second.recall().text


def test_files_can_be_tracked_pinned_listed_untracked_and_cleared_by_command(files: Files, talk: Talk) -> None:
    files({"a.py": "x\n", "b.py": "".join(f"{n}\n" for n in range(9)), "c.py": "z\n"})
    layer = talk().layer
    state: object = None
    for path in ("a.py", "./b.py:2-3", "#c.py", "a.py"):
        state = asyncio.run(layer.track(state, path, COUNTER))
    state = layer.pin(state, "c.py")

    lines = layer.listed(state, COUNTER)
    assert [(one.path, one.state, one.pinned) for one in lines] == [
        ("c.py", "ok", True),
        ("a.py", "ok", False),
        ("b.py:2-3", "ok", False),
    ]
    assert all(one.tokens > 10 and one.score == 50 for one in lines)
    state = layer.untrack(layer.pin(state, "c.py", on=False), "b.py")
    assert [one.path for one in layer.listed(state, COUNTER)] == ["a.py", "c.py"]
    assert layer.listed(layer.clear(state), COUNTER) == ()


def test_a_pinned_file_comes_before_all_others(files: Files, talk: Talk) -> None:
    files({"a.py": "nothing\n", "budget.py": "def budget(): ...\n"})
    thread = talk()
    thread.say("the budget: #a.py #budget.py")
    assert headings(thread.recall()) == ["budget.py", "a.py"]
    thread.context.state = thread.layer.pin(thread.context.state, "a.py")

    assert headings(thread.recall()) == ["a.py", "budget.py"]
    assert thread.recall().blocks[0].reason.startswith("pinned")


def test_a_command_for_a_file_that_cannot_be_read_says_why_and_changes_nothing(files: Files, talk: Talk) -> None:
    files({"a.py": "x\n", ".env": "x\n"})
    layer = talk(max_files=1).layer
    state = asyncio.run(layer.track(None, "a.py", COUNTER))
    for path, code in {".env": Code.BUDGET_EXCEEDED, "nope.py": Code.BUDGET_EXCEEDED}.items():
        with pytest.raises(SourceError) as caught:
            asyncio.run(layer.track(state, path, COUNTER))
        assert caught.value.code is code
    for path, code in {".env": Code.SENSITIVE_PATH, "nope.py": Code.NOT_FOUND, "../x.py": Code.PATH_TRAVERSAL}.items():
        with pytest.raises(SourceError) as caught:
            asyncio.run(layer.track(None, path, COUNTER))
        assert caught.value.code is code


LARGE = "".join(f"line {n} says something about nothing in particular\n" for n in range(2_000))


def rooms(recall: Recall) -> dict[str, int]:
    return {block.source.label: block.tokens for block in recall.blocks}


@pytest.mark.parametrize("budget", [600, 2_000, 8_000])
def test_a_file_gets_more_room_the_more_it_matters(files: Files, talk: Talk, budget: int) -> None:
    files({"none.txt": LARGE, "all.txt": LARGE, "some.txt": LARGE})
    thread = talk(scoring_model=ScriptedModel(["0", "95", "50"]))
    thread.say("Compare #none.txt #all.txt #some.txt")
    assert thread.scores() == {"none.txt": 0, "all.txt": 95, "some.txt": 50}
    room = rooms(thread.recall(budget))

    assert room["all.txt"] > 1.3 * room["some.txt"] > 2 * room["none.txt"] > 0


def test_a_pinned_file_gets_more_room_than_any_other(files: Files, talk: Talk) -> None:
    files({"a.txt": LARGE, "b.txt": LARGE})
    thread = talk(scoring_model=ScriptedModel(["100", "0"]))
    thread.say("Compare #a.txt #b.txt")
    before = rooms(thread.recall(2_000))
    thread.context.state = thread.layer.pin(thread.context.state, "b.txt")
    pinned = rooms(thread.recall(2_000))
    thread.context.state = thread.layer.pin(thread.context.state, "a.txt")
    both = rooms(thread.recall(2_000))

    assert before["a.txt"] > 4 * before["b.txt"]
    assert pinned["b.txt"] > 1.5 * pinned["a.txt"]
    assert 1.2 * both["b.txt"] < both["a.txt"] < 2 * both["b.txt"]


def test_small_files_are_whole_whatever_their_score(files: Files, talk: Talk) -> None:
    files({"small.txt": "one line\n", "all.txt": LARGE})
    thread = talk(scoring_model=ScriptedModel(["0", "100"]))
    thread.say("Compare #small.txt #all.txt")
    details = {block.source.label: block.detail for block in thread.recall(2_000).blocks}

    assert details == {"small.txt": Detail.FULL, "all.txt": Detail.EXCERPT}


def test_two_threads_share_a_layer_without_sharing_their_files(files: Files, talk: Talk) -> None:
    files({"a.py": "x\n", "b.py": "y\n"})
    one = talk()
    two = Thread(one.layer, LayerContext("u", "u", None, COUNTER, 128_000))
    one.say("#a.py")
    two.say("#b.py")

    assert headings(one.recall()) == ["a.py"]
    assert headings(two.recall()) == ["b.py"]


def test_a_state_that_somebody_else_wrote_or_changed_is_read_anew(files: Files, talk: Talk) -> None:
    files({"a.py": "x\n", "b.py": "y\n"})
    thread = talk()
    thread.say("#a.py")
    assert headings(thread.recall()) == ["a.py"]

    thread.context.state = asyncio.run(talk().layer.track(thread.context.state, "b.py", COUNTER))
    assert headings(thread.recall()) == ["a.py", "b.py"]

    thread.context.state["files"][1]["pinned"] = True  # in place: the same object says something else
    assert headings(thread.recall()) == ["b.py", "a.py"]
    thread.say("hello")
    assert [file["pinned"] for file in thread.context.state["files"]] == [False, True]

    thread.context.state = None
    assert asyncio.run(thread.layer.recall(RecallRequest("", 10_000), thread.context)) is None


def test_a_list_of_files_that_vanished_meanwhile_is_still_a_list(files: Files, talk: Talk) -> None:
    root = files({"a.py": "x\n"})
    state = asyncio.run(talk().layer.track(None, "a.py", COUNTER))
    (root / "a.py").unlink()

    assert [one.state for one in talk().layer.listed(state, COUNTER)] == ["deleted"]


def test_many_budgets_do_not_keep_many_recalls(files: Files, talk: Talk) -> None:
    files({"a.py": "x\n" * 100})
    thread = talk()
    thread.say("#a.py")
    for budget in range(100, 200):
        thread.recall(budget)

    assert len(thread.layer._rendered) <= 64


def test_a_counter_in_which_the_whole_costs_more_than_its_parts_is_obeyed(files: Files, talk: Talk) -> None:
    class Steep:
        def count(self, text: str) -> int:
            return len(text) + 50 * text.count("\n\n##")

    files({f"{n}.txt": "words\n" * 100 for n in range(4)})
    thread = talk()
    thread.context.counter = Steep()
    thread.say("#0.txt #1.txt #2.txt #3.txt")
    for budget in (0, 100, 300, 700, 1_500, 4_000):
        found = asyncio.run(thread.layer.recall(RecallRequest("", budget), thread.context))
        assert found is not None
        assert Steep().count(found.text) <= budget
