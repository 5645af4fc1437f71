"""A tracked file changes: what stands before the history stays as it is, and what is new follows the history."""

from pathlib import Path
from typing import Any

import pytest

from promptuary import Principal
from promptuary.blocking import Promptuary
from promptuary.threads.prepared import Turn
from tests.conftest import Files
from tests.current_files import AS_DIFF, AS_TEXT, CHANGED, current_files

BODY = "".join(f"line {number} of a file that is long enough to be worth a diff\n" for number in range(60))
EDITED = BODY.replace("line 30 of", "the thirtieth line of")
OTHER = "one more file\n" * 40


@pytest.fixture
def project(files: Files) -> Path:
    return files({"a.py": BODY, "b.md": OTHER})


def opened(path: Path, **options: Any) -> Promptuary:
    return Promptuary.open(path, exact=True, embedder="none", principal=Principal("ada"), **options)


def say(promptuary: Promptuary, text: str) -> Turn:
    turn = promptuary.threads.prepare(text)
    promptuary.threads.finish(turn, "An answer that is some words long, so that a history grows. " * 20)
    return turn


def talk(promptuary: Promptuary) -> Turn:
    """Have a conversation that makes it worth repeating the files."""
    say(promptuary, "Look at #a.py and #b.md")
    return say(promptuary, "Go on.")


def updates(turn: Turn) -> list[str]:
    return [one["content"] for one in turn.prompt.live if one["content"].startswith(CHANGED)]


def test_an_edit_leaves_everything_before_it_byte_for_byte_and_is_the_current_version_after_the_history(
    project: Path,
) -> None:
    with opened(project) as promptuary:
        before = talk(promptuary)
        (project / "a.py").write_text(EDITED)
        after = say(promptuary, "And now?")

        assert after.prompt.stable == before.prompt.stable
        assert after.messages[: len(before.messages)] == before.messages
        assert AS_DIFF in updates(after)[0]
        assert current_files(after.messages) == {"a.py": EDITED, "b.md": OTHER}


def test_what_is_rewritten_comes_as_its_new_text(project: Path) -> None:
    with opened(project) as promptuary:
        before = talk(promptuary)
        (project / "b.md").write_text("nothing of it is left\n")
        after = say(promptuary, "And now?")

        assert after.prompt.stable == before.prompt.stable
        assert AS_TEXT in updates(after)[0]
        assert current_files(after.messages) == {"a.py": BODY, "b.md": "nothing of it is left\n"}


def test_the_receipt_has_the_outdated_text_and_the_current_one_and_adds_up(project: Path) -> None:
    with opened(project) as promptuary:
        before = talk(promptuary)
        (project / "a.py").write_text(EDITED)
        turn = promptuary.threads.prepare("And now?")
        entries = [one for one in turn.receipt.entries if one.source == "file:a.py"]
        old = next(one for one in before.receipt.entries if one.source == "file:a.py")

        assert [one.status for one in entries] == ["in", "in"]
        assert entries[0].revision == old.revision != entries[1].revision
        assert entries[0].reason.startswith("outdated")
        assert [block.source.address for block in turn.blocks].count("file:a.py") == 2
        # A replay compares with what was current, and an audit names both.
        assert promptuary.threads.replay().drift == []
        assert {row.current for row in promptuary.threads.sources() if row.source == "file:a.py"} == {True, False}
        (project / "a.py").write_text(BODY)
        assert [one.path for one in promptuary.threads.replay().drift] == ["a.py"]


def test_another_process_repeats_the_same_bytes(project: Path) -> None:
    with opened(project) as promptuary:
        before = talk(promptuary)
    (project / "a.py").write_text(EDITED)
    with opened(project) as restarted, opened(project) as other:
        first = say(restarted, "And now?")
        (project / "b.md").write_text(OTHER.replace("one more", "yet another", 1))
        second = say(other, "And now?")
        third = say(restarted, "And then?")

        assert first.prompt.stable == second.prompt.stable == third.prompt.stable == before.prompt.stable
        assert current_files(second.messages) == current_files(third.messages)
        assert current_files(third.messages) == {"a.py": EDITED, "b.md": (project / "b.md").read_text()}


def test_a_file_that_goes_and_comes_back_is_said_to_be_so_at_each_step(project: Path) -> None:
    with opened(project) as promptuary:
        before = talk(promptuary)
        (project / "b.md").unlink()
        gone = say(promptuary, "And now?")
        (project / "b.md").write_text(OTHER)
        back = say(promptuary, "And then?")

        assert gone.prompt.stable == back.prompt.stable == before.prompt.stable
        assert current_files(gone.messages)["b.md"].startswith("[FILE DELETED: b.md]")
        assert updates(back) == []


def test_what_was_edited_back_needs_no_words(project: Path) -> None:
    with opened(project) as promptuary:
        before = talk(promptuary)
        (project / "a.py").write_text(EDITED)
        say(promptuary, "And now?")
        (project / "a.py").write_text(BODY)
        after = say(promptuary, "And then?")

        assert (after.prompt.stable, updates(after)) == (before.prompt.stable, [])


def test_what_is_untracked_or_may_no_longer_be_read_is_not_sent_again(project: Path) -> None:
    with opened(project) as promptuary:
        talk(promptuary)
        (project / "a.py").write_bytes(b"\x00\x01")
        refused = say(promptuary, "And now?")
        assert "line 30" not in str(refused.prompt.stable)
        assert current_files(refused.messages)["a.py"].startswith("[ERROR BINARY")
        promptuary.threads.detach("b.md")
        dropped = say(promptuary, "And then?")

        assert "one more file" not in str(dropped.prompt.stable)
        assert list(current_files(dropped.messages)) == ["a.py"]


def test_the_files_are_written_anew_when_the_changes_have_cost_as_much(project: Path) -> None:
    with opened(project) as promptuary:
        talk(promptuary)
        rebased = 0
        for number in range(40):
            (project / "a.py").write_text(BODY.replace("line 3", f"in turn {number}, line 3"))
            turn = say(promptuary, "And now?")
            assert current_files(turn.messages)["a.py"] == (project / "a.py").read_text()
            rebased += not updates(turn)

        assert 1 <= rebased <= 20


def test_a_new_file_follows_the_history_and_has_its_link(project: Path) -> None:
    with opened(project) as promptuary:
        before = talk(promptuary)
        (project / "c.md").write_text("small\n")
        after = say(promptuary, "And #c.md?")

        assert after.prompt.stable == before.prompt.stable
        assert "## c.md {#c-md}" in updates(after)[0]
        assert current_files(after.messages)["c.md"] == "small\n"


def test_a_compaction_writes_the_files_anew(project: Path) -> None:
    with opened(project, window=16_000, compact_share=0.4, compact_goal_share=0.2) as promptuary:
        talk(promptuary)
        seen: dict[bool, list[bool]] = {True: [], False: []}
        for number in range(24):
            (project / "b.md").write_text(f"{OTHER}{number}\n")
            turn = say(promptuary, "And now?")
            assert current_files(turn.messages) == {"a.py": BODY, "b.md": f"{OTHER}{number}\n"}
            compacted = any("compacted" in warning for warning in turn.receipt.warnings)
            seen[compacted].append(bool(updates(turn)))

        assert any(seen[False])
        assert seen[True]
        assert not any(seen[True])


def test_a_window_that_shrinks_degrades_what_is_current_and_never_shows_the_outdated(project: Path) -> None:
    with opened(project) as promptuary:
        talk(promptuary)
        (project / "a.py").write_text(EDITED)
        say(promptuary, "And now?")
    for window in (6_000, 3_000, 1_500, 800, 16_000):
        with opened(project, window=window, reply_reserve=200) as promptuary:
            turn = say(promptuary, "And now?")
            shown = "\n".join(one["content"] for one in turn.prompt.stable)

            assert turn.receipt.tokens <= window - 200
            assert updates(turn) or "line 30 of" not in shown.replace("thirtieth line", "")
            if window == 16_000:
                assert current_files(turn.messages) == {"a.py": EDITED, "b.md": OTHER}


def test_what_was_forgotten_in_the_ledger_is_not_repeated(project: Path) -> None:
    (project / "a.py").write_text(f"launch code 4711\n{BODY}")
    with opened(project) as promptuary, opened(project) as other:
        talk(promptuary)
        say(other, "This one has read it, too.")
        (project / "a.py").write_text(BODY)
        assert "4711" in str(promptuary.threads.prepare("Was it outdated?").messages)
        promptuary.threads.forget("a.py")

        for one in (other, promptuary):
            turn = say(one, "And now?")
            assert "4711" not in str(turn.messages)
            assert current_files(turn.messages) == {"a.py": BODY, "b.md": OTHER}
        assert "4711" not in str([turn.messages for turn in promptuary.threads.turns()])


def test_a_turn_that_is_run_again_in_another_window_has_the_current_files(project: Path) -> None:
    with opened(project) as promptuary:
        talk(promptuary)
        (project / "a.py").write_text(EDITED)
        say(promptuary, "And now?")
        again = promptuary.threads.rerun(window=32_000)

        assert current_files(again.messages) == {"a.py": EDITED, "b.md": OTHER}


def test_every_provider_is_told_after_the_history_and_its_cache_marks_stay(project: Path) -> None:
    with opened(project) as promptuary:
        talk(promptuary)
        (project / "a.py").write_text(EDITED)
        rendered = promptuary.threads.prepare("And now?").render("anthropic")

        assert CHANGED not in str(rendered["system"])
        marked = [block for one in rendered["messages"] for block in one["content"] if "cache_control" in block]
        assert len(marked) == 1
        assert CHANGED in str(rendered["messages"][-1])
        assert CHANGED not in str(marked)
