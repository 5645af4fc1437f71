"""``promptuary experience``: what it prints, what it reads, and how it ends."""

import io
import json
from pathlib import Path

import pytest

from promptuary.cli.experiences.printing import strength_plot
from promptuary.cli.main import main
from promptuary.experiences.values import Experience

AT = "2026-01-01T00:00:00.000Z"


@pytest.fixture(autouse=True)
def alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PROMPTUARY_EMBEDDER", "none")
    monkeypatch.chdir(tmp_path)


class Run:
    """Runs the command, and returns the exit code, what it prints, and what it says besides."""

    def __init__(self, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
        self._capsys, self._monkeypatch = capsys, monkeypatch

    def __call__(self, *words: str, stdin: str = "") -> tuple[int, str, str]:
        piped = io.TextIOWrapper(io.BytesIO(stdin.encode()))
        self._monkeypatch.setattr("sys.stdin", piped)
        code = main(["experience", *words])
        out, err = self._capsys.readouterr()
        return code, out, err


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    return Run(capsys, monkeypatch)


def stored(run: Run, *words: str, stdin: str = "") -> dict[str, object]:
    code, out, _ = run("add", "--json", *words, stdin=stdin)
    assert code == 0
    (one,) = json.loads(out)["experiences"]
    assert isinstance(one, dict)
    return one


def test_nothing_is_created_by_who_only_looks(run: Run, tmp_path: Path) -> None:
    assert run("list")[0] == 1
    assert run("find", "anything")[0] == 1
    assert run("show", "4f1c")[0] == 1
    assert run("prune")[0] == 0
    assert list(tmp_path.iterdir()) == []
    assert "no experiences yet" in run("list")[2]
    assert "no experiences yet" in run("find", "anything")[2]


def test_a_word_that_stands_in_an_experience_is_not_said_to_be_unlike_it(run: Run) -> None:
    for number in range(9):
        stored(run, f"Fixed the flaky redirect test {number} by freezing the clock")

    assert run("find", "redirect")[2] == ""
    assert "no experience seems similar" in run("find", "redirect kubernetes helm ingress")[2]


def test_what_is_added_is_found_shown_and_listed(run: Run) -> None:
    one = stored(run, "--solution", '{"run": "make docs"}', "--tag", "Docs", "build", "the", "docs")

    assert (one["intent"], one["solution"], one["tags"]) == ("build the docs", {"run": "make docs"}, ["docs"])
    code, out, _ = run("find", "--explain", "--tag", "docs", "how do I build docs?")
    assert code == 0
    assert "1. build the docs" in out
    assert "make docs" in out
    assert "tags: docs" in out
    assert '"run": "make docs"' in run("show", str(one["id"])[:6])[1]
    assert "build the docs #docs" in run("list")[1]


def test_texts_come_from_standard_input(run: Run) -> None:
    assert stored(run, "-", stdin="build the docs\n")["intent"] == "build the docs"
    assert stored(run, "--solution", "-", "sort it", stdin="[1, 2]")["solution"] == [1, 2]
    assert stored(run, "--solution", "-", "sort them", stdin="plain words")["solution"] == "plain words"
    code, _, err = run("add", "--solution", "-", "-", stdin="x")
    assert (code, "cannot both come from standard input" in err) == (2, True)


def test_ids_come_from_standard_input(run: Run) -> None:
    ids = [str(stored(run, f"build part {number}")["id"]) for number in range(2)]
    code, out, _ = run("show", "--json", "-", stdin="\n".join(ids))

    assert (code, [one["id"] for one in json.loads(out)["experiences"]]) == (0, ids)


def test_a_failure_and_a_preference_are_said_in_one_go(run: Run) -> None:
    failed = stored(run, "--failure", "--problem", "no space", "build the docs")
    liked = stored(run, "--prefer", "indentation", "tabs")

    assert (failed["outcome"], failed["problem"], failed["success_score"]) == ("failure", "no space", 0.0)
    assert (liked["type"], liked["confidence"]) == ("user_preference", 0.4)
    assert "build the docs" not in run("list", "--outcome", "success")[1]
    assert run("list", "--type", "tool_chain")[2].startswith("no experience matches the filters")


def test_a_preference_says_when_it_is_shown_and_what_it_contradicts(run: Run) -> None:
    first = run("add", "--prefer", "Indentation", "tabs")[2]
    second = run("add", "--prefer", "indentation", "spaces")[2]
    again = run("add", "--prefer", "indentation", "spaces")[2]

    assert "its confidence is 0.40, and turns include it from 0.5: add it again" in first
    assert "contrary" not in first
    assert "Indentation: tabs contradicts it, and now has confidence 0.20" in second
    assert "shown what is" not in again
    assert "0.52" in run("list")[1]


def test_the_same_again_is_said(run: Run) -> None:
    stored(run, "build the docs")

    assert "already known, now used 2 times" in run("add", "Build the docs!")[2]


def test_feedback_changes_what_is_printed(run: Run) -> None:
    one = stored(run, "build the docs")
    code, out, _ = run("feedback", "wrong", str(one["id"]), "--json")

    (rated,) = json.loads(out)["experiences"]
    assert (code, rated["success_score"], rated["base_weight"]) == (0, 0.5, 0.5)


def test_decay_and_pruning_say_what_they_did(run: Run) -> None:
    stored(run, "build the docs")

    assert json.loads(run("decay", "--json", "--half-life", "10")[1]) == {"changed": 1, "half_life_days": 10.0}
    report = json.loads(run("prune", "--json", "--min-weight", "1", "--dry-run")[1])
    assert (report["done"], len(report["experiences"])) == (False, 1)
    assert "removed 1 experience weaker than 1" in run("prune", "--min-weight", "1")[2]
    assert run("list")[0] == 1


def test_forgetting_needs_a_yes(run: Run) -> None:
    one = stored(run, "build the docs")
    key = str(one["id"])
    code, _, err = run("forget", key)

    assert (code, "add --yes" in err) == (2, True)
    assert run("forget", key, "--yes")[:2] == (0, f"{key}  build the docs\n")
    assert run("forget", key, "--yes")[0] == 1


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["add", "--score", "2", "x"], "success_score is a number from 0 to 1"),
        (["add", "--type", "task", "x"], "is not a type of experience"),
        (
            ["add", "--prefer", "a", "--type", "tool_chain", "x"],
            "--prefer cannot be combined with --solution or --type",
        ),
        (["add", "-"], "intent is empty"),
        (["find", "-"], "no search words given"),
        (["show"], "experience show needs an id"),
        (["decay", "--half-life", "0"], "number of days above 0"),
        (["prune", "--min-weight", "nan"], "min_weight is a number"),
    ],
)
def test_what_is_wrong_ends_with_a_sentence_and_code_2(run: Run, words: list[str], said: str) -> None:
    code, out, err = run(*words)

    assert (code, out) == (2, "")
    assert said in err


def test_escapes_of_a_terminal_are_spelled_out(run: Run) -> None:
    stored(run, "--solution", "\x1b[31mred", "--tag", "a\u202eb", "build \x1b[2J the docs")

    for words in (
        ["list"],
        ["list", "--plot"],
        ["find", "docs"],
        ["show", str(json.loads(run("list", "--json")[1])["experiences"][0]["id"])],
    ):
        assert "\x1b" not in run(*words)[1]
        assert "\u202e" not in run(*words)[1]


def test_a_curve_falls_by_half_in_a_half_life_and_fits_its_line() -> None:
    strong = Experience("0123456789ab", "task_solution", "build the 資料 docs " * 9, None, AT, AT, "", "")
    weak = Experience("1123456789ab", "task_solution", "x", None, AT, AT, "", "", base_weight=0.04)
    first, second, axis = strength_plot([strong, weak], AT).splitlines()

    assert first.endswith("  1.00  9998887776666555554444443333333332222222222222211111111111111111.")
    assert second.endswith("  0.04  " + "." * 65)
    assert axis.split() == ["today", "130", "days"]
    assert max(map(len, (first, second, axis))) <= 120


def test_a_flag_of_another_action_is_not_suggested_in_its_own_place(run: Run) -> None:
    code, _, err = run("add", "--outcome", "failure", "a text")
    assert (code, "unrecognized arguments: --outcome" in err, "did you mean --outcome" in err) == (2, True, False)
