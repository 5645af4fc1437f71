"""``promptuary search``, as a person or a script runs it."""

import json
import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest

from promptuary.blocking import BlockingSearch
from promptuary.cli.main import main
from promptuary.models import minilm
from tests.conftest import Files
from tests.interaction.answers import Answer, Run

PROMPTUARY = [sys.executable, "-m", "promptuary"]
DEPLOY = "# Deploying\n\nBuild the image first.\n\n## Rollback\n\nPin the previous tag.\nThen restart the service.\n"


@pytest.fixture(autouse=True)
def _by_words(monkeypatch: pytest.MonkeyPatch) -> None:
    """Most tests need no model."""
    monkeypatch.setenv("PROMPTUARY_EMBEDDER", "none")


@pytest.fixture
def project(files: Files) -> Path:
    return files(
        {
            "docs/deploy.md": DEPLOY,
            "src/restart.py": "def restart(service):\n    return service.restart()\n",
            "journal/2024-05-06.md": "We had to restart everything.\n",
            "limits.toml": "restart = 3\n",
        }
    )


@pytest.fixture
def run(project: Path, capsys: pytest.CaptureFixture[str]) -> Run:
    def start(*arguments: str, command: str = "search") -> Answer:
        code = main([command, *arguments, "--workspace", str(project)])
        out, err = capsys.readouterr()
        assert "Traceback" not in out + err
        return Answer(code, out, err)

    return start


@pytest.fixture
def indexed(run: Run) -> Run:
    assert run(command="index").code == 0
    return run


def paths(answer: Answer) -> set[str]:
    return {hit["path"] for hit in answer.json["hits"]}


def test_people_get_the_place_the_headings_and_the_best_lines(indexed: Run) -> None:
    answer = indexed("previous", "tag", "rollback")

    assert answer.code == 0
    assert re.fullmatch(
        r"1\. docs/deploy\.md:\d-8  Deploying( > Rollback)?\n(   .*\n)?   Pin the previous tag\.\n"
        r"   Then restart the service\.\n",
        answer.out,
    )
    assert answer.err == "search by words\n"
    assert indexed("previous tag", "--quiet").err == ""


def test_a_place_in_the_workspace_can_be_referred_to(indexed: Run) -> None:
    place = indexed("previous tag").out.split()[1]

    assert "Pin the previous tag." in indexed(f"@file:{place}", command="expand").out


def test_a_folder_inside_the_workspace_is_told_as_part_of_it_and_others_whole(
    run: Run, project: Path, tmp_path: Path
) -> None:
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "a.md").write_text("The previous tag.\n")
    run(str(project / "docs"), str(notes), command="index")
    places = [line.split()[1] for line in run("previous tag").out.splitlines() if re.match(r"\d\.", line)]

    assert {place.partition(":")[0] for place in places} == {"docs/deploy.md", str(notes / "a.md")}


def test_a_document_is_one_hit_that_says_how_to_get_its_other_passages(run: Run, project: Path) -> None:
    berths = "".join(f"## Berth {number}\n\nberth {'quay ' * 250}\n" for number in range(4))
    (project / "docs" / "harbour.md").write_text(berths)
    run(command="index")
    short, whole = run("berth", "quay"), run("berth", "quay", "--passages", "4", "--json")

    assert short.out.count("harbour.md:") == 1
    assert "   and 3 more passages: --passages 4\n" in short.out
    assert [hit["more"] for hit in run("berth", "quay", "--json").json["hits"]] == [3]
    assert [hit["more"] for hit in whole.json["hits"]] == [0, 0, 0, 0]


def test_json_is_the_promised_object(indexed: Run, project: Path) -> None:
    answer = indexed("everything", "--json", "--explain")

    hit = answer.json["hits"][0]
    assert answer.json == {
        "query": "everything",
        "mode": "lexical",
        "auto_synced": False,
        "partially_embedded": False,
        "confidence": answer.json["confidence"],
        "notes": [],
        "hits": [
            {
                "place": "journal/2024-05-06.md:1-1",
                "folder": str(project),
                "path": "journal/2024-05-06.md",
                "start_line": 1,
                "end_line": 1,
                "heading": [],
                "kind": "markdown",
                "date": "2024-05-06T00:00:00+00:00",
                "score": hit["score"],
                "text": "We had to restart everything.",
                "sha256": hit["sha256"],
                "copies": [],
                "more": 0,
                "why": {
                    "lexical": hit["why"]["lexical"],
                    "cosine": None,
                    "meaning": None,
                    "length": 0.0,
                    "foreign": False,
                    "time": "",
                    "matched": ["everything"],
                },
            }
        ],
    }
    assert "why" not in indexed("everything", "--json").json["hits"][0]
    assert answer.json["confidence"] >= 1


def test_a_search_that_nothing_answers_says_so_and_shows_the_nearest(indexed: Run) -> None:
    asked = "which everything should the third gardener of the northern palace water tomorrow"
    answer = indexed(asked)

    assert "no passage seems to answer this" in answer.err
    assert "journal/2024-05-06.md" in answer.out
    assert indexed(asked, "--json").json["confidence"] < 1


@pytest.fixture
def manual(run: Run, files: Files) -> Run:
    """Index so many chapters that one word of them is no evidence of an answer."""
    files({f"manual/{number}.md": f"# Part {number}\n\nA service of part {number} restarts.\n" for number in range(80)})
    assert run(command="index").code == 0
    return run


@pytest.mark.parametrize("words", ["service", "Services", "serv*", '"a service of"'])
def test_words_that_all_stand_in_a_hit_are_not_said_to_have_no_answer(manual: Run, words: str) -> None:
    answer = manual(words)

    assert answer.err == "search by words\n"
    assert "service" in answer.out
    assert manual(words, "--json").json["confidence"] < 1  # in a message, the same words are chance


@pytest.mark.parametrize("words", ["what is the service", "service kubernetes", "servise", "the"])
def test_a_question_a_missing_word_and_a_guess_are_said_to_have_no_answer(manual: Run, words: str) -> None:
    answer = manual(words)

    assert answer.out
    assert "no passage seems to answer this" in answer.err


def test_the_place_of_a_hit_is_what_a_file_reference_takes(run: Run, project: Path, files: Files) -> None:
    names = ["my notes/a b.md", "odd:10.md", "it's (one).md", 'say "hi".md', "日本語。.md"]
    files({name: f"# Zebra\n\nThe zebra of file {number}.\n" for number, name in enumerate(names)})
    run(str(project / "my notes"), str(project), command="index")
    for hit in run("zebra", "--json").json["hits"]:
        expanded = run(f"See @file:{hit['place']} please.", "--json", command="expand").json

        (reference,) = expanded["references"]
        assert (reference["status"], reference["target"], reference["lines"]) == ("included", hit["path"], [1, 3])
        assert hit["text"] in expanded["messages"][0]["content"]


def test_the_place_of_a_hit_outside_the_workspace_is_an_absolute_path(run: Run, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "a.md").write_text("A zebra.\n")
    run(str(outside), command="index")
    (hit,) = run("zebra", "--json").json["hits"]

    assert hit["place"] == f"{outside}/a.md:1-1"
    assert run("zebra", "--quiet").out.startswith(f"1. {outside}/a.md:1-1")
    (reference,) = run(f"@file:{hit['place']}", "--json", command="expand").json["references"]
    assert reference["code"] == "ABSOLUTE_PATH"


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        ((), {"docs/deploy.md", "src/restart.py", "journal/2024-05-06.md", "limits.toml"}),
        (("--kind", "code"), {"src/restart.py"}),
        (("--kind", "code", "--kind", "data"), {"src/restart.py", "limits.toml"}),
        (("--path", "docs"), {"docs/deploy.md"}),
        (("--path", "**/*.md", "--path", "!journal/**"), {"docs/deploy.md"}),
        (("--path", "!**/*.md"), {"src/restart.py", "limits.toml"}),
        (("--until", "2024-05-06"), {"journal/2024-05-06.md"}),
        (("--since", "2024-05-06", "--until", "2024-05-06"), {"journal/2024-05-06.md"}),
        (("--until", "2024-05-05"), set()),
        (("--since", "2024-05-07"), {"docs/deploy.md", "src/restart.py", "limits.toml"}),
        (("--since", "1w"), {"docs/deploy.md", "src/restart.py", "limits.toml"}),
        (("--label", "ada"), set()),
        (("--limit", "1", "--kind", "data"), {"limits.toml"}),
    ],
)
def test_what_may_be_found_can_be_narrowed(indexed: Run, filters: tuple[str, ...], expected: set[str]) -> None:
    answer = indexed("restart", "--json", *filters)

    assert paths(answer) == expected
    assert answer.code == (0 if expected else 1)


def test_folders_are_searched_by_their_label(run: Run, project: Path) -> None:
    run(str(project / "docs"), "--label", "ada", command="index")
    run(str(project / "src"), "--label", "bob", command="index")

    assert paths(run("restart", "--json", "--label", "ada")) == {"deploy.md"}
    assert paths(run("restart", "--json", "--label", "ada", "--label", "bob")) == {"deploy.md", "restart.py"}


def test_what_changed_is_found_as_it_is_now(indexed: Run, files: Files, project: Path) -> None:
    files({"docs/new.md": "A zebra.\n"})
    (project / "limits.toml").unlink()
    found = indexed("zebra")

    assert found.out.startswith("1. docs/new.md:1-1")
    assert found.err == "search by words; synced changed files first\n"
    assert "limits.toml" not in paths(indexed("restart", "--json"))


def test_the_limit_is_kept_and_the_whole_passage_can_be_had(indexed: Run) -> None:
    assert indexed("restart", "--limit", "2").out.count("\n\n") == 1
    full = indexed("previous", "--full").out
    assert "\n   ## Rollback\n\n   Pin the previous tag.\n   Then restart the service.\n" in full


def test_a_name_is_shown_where_its_parts_are(files: Files, run: Run) -> None:
    lines = "".join(f"step_{number} = {number}\n" for number in range(9))
    files({"src/orders.py": f'"""Orders of the shop."""\n\n{lines}\ndef place_order(basket):\n    return basket\n'})
    run(command="index")

    assert "   def place_order(basket):\n" in run("placeOrder", "--kind", "code").out


def test_front_matter_is_shown_only_if_it_has_the_words(files: Files, run: Run) -> None:
    notes = "---\ntitle: Boats\ntags: [river]\n---\n\nWe rowed upstream.\n"
    files({"notes/boats.md": notes, "notes/boats.yaml": f"{notes}---\n"})
    run(command="index")

    assert run("rowed boats", "--kind", "markdown").out == "1. notes/boats.md:1-6\n   We rowed upstream.\n"
    assert "   title: Boats\n" in run("boats", "--kind", "markdown").out
    # A marker in data divides documents.
    assert run("rowed", "--kind", "data").out.endswith("\n   ---\n   We rowed upstream.\n   ---\n")


def test_why_a_hit_stands_where_it_does_can_be_asked(indexed: Run) -> None:
    assert re.search(
        r"\n   why: score \d.*, words \d+\.\d+, matched: previous tag\n", indexed("previous tag", "--explain").out
    )


def test_a_misspelled_word_finds_what_it_is_meant_for_and_that_can_be_asked(indexed: Run) -> None:
    right, wrong = indexed("previous tag", "--explain").out, indexed("previuos tag", "--explain").out

    assert wrong.split("why:", maxsplit=1)[0] == right.split("why:", maxsplit=1)[0]
    assert "matched: tag, previuos ~ previous\n" in wrong


def test_nothing_found_is_exit_code_1_and_told(indexed: Run) -> None:
    missed, filtered = indexed("zebra"), indexed("restart", "--path", "nowhere/**")

    assert (missed.code, missed.out, filtered.code, filtered.out) == (1, "", 1, "")
    place = "promptuary index --list shows what is searched"
    assert missed.err == f"search by words\nnothing found for zebra: use other words; {place}\n"
    assert filtered.err == f"nothing found for restart: relax the filters or use other words; {place}\n"
    assert indexed("zebra", "--json").json["hits"] == []


@pytest.mark.parametrize("more", [(), ("--json",), ("--quiet",), ("--debug",)])
def test_where_nothing_is_indexed_yet_that_is_an_error_and_not_nothing_found(
    project: Path, capsys: pytest.CaptureFixture[str], more: tuple[str, ...]
) -> None:
    code = main(["search", "restart", *more, "--workspace", str(project)])
    out, err = capsys.readouterr()

    assert (code, out) == (2, "")
    assert "promptuary: nothing is indexed yet; run `promptuary index`" in err
    assert ("Traceback" in err) == ("--debug" in more)


def test_a_damaged_database_is_an_error_and_not_nothing_found(
    indexed: Run, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PROMPTUARY_EMBEDDER", "endpoint")
    monkeypatch.setenv("PROMPTUARY_EMBED_URL", "http://127.0.0.1:9/v1")
    monkeypatch.setenv("PROMPTUARY_EMBED_MODEL", "letters")
    (project / ".promptuary" / "state.db").write_bytes(b"no database" * 1_000)
    answer = indexed("restart")

    assert (answer.code, answer.out) == (2, "")
    assert "state.db is damaged" in answer.err


def test_what_cannot_be_read_or_printed_is_an_error_and_not_nothing_found(
    indexed: Run, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Path("/dev/full").open("wb") as full:
        command = [*PROMPTUARY, "search", "restart"]
        done = subprocess.run(command, cwd=project, stdout=full, stderr=subprocess.PIPE, check=False)
    assert done.returncode == 2
    assert b"promptuary: the disk is full" in done.stderr

    def failing(*_: object) -> None:
        raise OSError(5, "Input/output error", "catalog.db")

    monkeypatch.setattr(BlockingSearch, "find", failing)
    answer = indexed("restart")
    assert (answer.code, answer.err) == (2, "promptuary: Input/output error (catalog.db)\n")


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("restart", "--since", "yesterday"), "--since 'yesterday' is neither a date"),
        (("restart", "--until", "7"), "--until '7' is neither a date"),
        (("restart", "--since", "1d", "--until", "2d"), "--since is after --until"),
        (("restart", "--limit", "0"), "not a positive whole number"),
        (("restart", "--kind", "poem"), "invalid choice"),
        (("restart", "--path", "{a,b}" * 20), "the path filter cannot be used"),
        (("  ",), "no search words given"),
        (("restart", "--warn", "3"), "unrecognized arguments"),
        (("restart", "--recall", "3"), "unrecognized arguments"),
        (("restart", "--timeout", "3"), "unrecognized arguments"),
        (("restart", "--watch-debounce", "3"), "unrecognized arguments"),
        (("restart", "--set", "chunk_tokens=3"), "--set chunk_tokens must be"),
    ],
)
def test_wrong_usage_is_exit_code_2(indexed: Run, arguments: tuple[str, ...], told: str) -> None:
    answer = indexed(*arguments)

    assert (answer.code, answer.out) == (2, "")
    assert told in answer.err


def test_the_question_may_come_from_standard_input(indexed: Run, project: Path) -> None:
    for given in ([], ["-"]):
        command = [*PROMPTUARY, "search", *given, "--json"]
        done = subprocess.run(command, cwd=project, input="previous tag\n", text=True, capture_output=True, check=True)
        assert json.loads(done.stdout)["query"] == "previous tag"


def test_a_closed_pipe_ends_quietly(files: Files, run: Run) -> None:
    project = files({f"{number}.md": "zebra " * 2_000 for number in range(30)})
    run(command="index")
    command = [*PROMPTUARY, "search", "--full", "--limit", "30", "zebra"]
    running = subprocess.Popen(command, cwd=project, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert running.stdout
    assert running.stderr
    running.stdout.read(10)
    running.stdout.close()
    errors = running.stderr.read().decode()
    running.stderr.close()

    assert "Traceback" not in errors
    assert "Broken" not in errors
    assert running.wait() == 0


@pytest.mark.parametrize("more", [[], ["--full"], ["--explain"], ["--json"]])
def test_no_control_sequence_of_a_file_or_its_name_reaches_a_terminal(files: Files, run: Run, more: list[str]) -> None:
    hostile = "\x1b[2J\x1b]0;title\x07 zebra \x9b1m \u202e"
    name = "a\x1b]52;c;x\x07\u202e"
    project = files({f"{name}/b.md": f"# T{hostile}\n\n{hostile}\n"})
    run(str(project / name), command="index")
    leader, follower = pty.openpty()
    command = [*PROMPTUARY, "search", "zebra", "\x1b[31mred", *more]
    running = subprocess.Popen(command, cwd=project, stdout=follower, stderr=follower, stdin=subprocess.DEVNULL)
    os.close(follower)
    written = b""
    while chunk := _read(leader):
        written += chunk
    os.close(leader)
    written = written.replace(b"\x1b[1m1. ", b"1. ").replace(b"\x1b[0m", b"")  # our own colour

    assert running.wait() == 0
    assert b"zebra" in written
    assert b"52;c;x" in written
    assert not set(written) & {*range(9), *range(11, 13), *range(14, 32), 127}
    assert "\x9b".encode() not in written
    assert "\u202e".encode() not in written


@pytest.mark.skipif(not minilm.available(), reason="the model is not installed")
def test_meaning_takes_part_once_there_are_vectors(run: Run, files: Files, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PROMPTUARY_EMBEDDER", "minilm")
    files({"docs/pets.md": "The kitten sleeps on the sofa.\n"})
    run("--no-embed", command="index")
    before = run("deploy")
    assert re.match(r"search by words \(\d chunks not embedded yet: promptuary index\)\n", before.err)

    run(command="index")
    after = run("where does the young cat sleep", "--explain", "--limit", "1")
    assert after.out.startswith("1. docs/pets.md:1-1")
    assert re.search(r"why: score .*, meaning 0\.\d+", after.out)
    assert after.err == "hybrid search\n"
    assert run("deploy", "--lexical").err == "search by words\n"
    # Meaning took part in none of these, for want of anything to compare: that is not a search by words.
    for nothing in (("deploy", "--path", "nowhere"), ('"no such phrase"',), ("?!",)):
        missed = run(*nothing)
        assert (missed.code, missed.err.splitlines()) == (1, missed.err.splitlines()[:1])
        assert missed.err.startswith("nothing found for ")
    assert run('"no such phrase"', "--lexical").err.startswith("search by words\nnothing found for ")


def _read(leader: int) -> bytes:
    try:
        return os.read(leader, 65_536)
    except OSError:  # the other side is gone
        return b""
