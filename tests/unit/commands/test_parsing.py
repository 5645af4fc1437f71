"""Reading a line as a slash command, slips, and the / menu."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptuary.base.text import visible
from promptuary.commands.parsing import CommandSlip, Invocation, choices, is_command, parse, unescaped
from promptuary.commands.registry import COMMANDS, EVERYTHING, FROM_AFAR


def slip(line: str, allowed: frozenset[str] = EVERYTHING) -> str:
    found = parse(line, allowed)
    assert isinstance(found, CommandSlip), found
    return found.reason


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("/why", Invocation("why", "", "")),
        ("  /why 3 ", Invocation("why", "", "3")),
        ("/WHY", Invocation("why", "", "")),
        ("/why@my_bot", Invocation("why", "", "")),
        ("/context", Invocation("context", "list", "")),
        ("/context Add a.py", Invocation("context", "add", "a.py")),
        ("/memory write two\nlines", Invocation("memory", "write", "two\nlines")),
        ("/memory\nwrite two\nlines", Invocation("memory", "write", "two\nlines")),
        ("/search  what's new", Invocation("search", "", "what's new")),
    ],
)
def test_a_line_is_read_as_a_command_with_its_action_and_its_words(line: str, found: Invocation) -> None:
    assert is_command(line)
    assert parse(line, EVERYTHING) == found


@pytest.mark.parametrize("line", ["why", "/etc/hosts is odd", "/2", "what is /why?", "// a comment", "", "/-x", "a /b"])
def test_any_other_text_is_a_message(line: str) -> None:
    assert not is_command(line)


def test_a_message_that_begins_with_two_slashes_is_sent_with_one() -> None:
    assert unescaped("//why is that?") == "/why is that?"
    assert unescaped("// a comment") == "// a comment"
    assert unescaped("a //why") == "a //why"


def test_quotes_keep_a_name_together_and_an_apostrophe_is_no_quote() -> None:
    assert Invocation("context", "add", '"a b.md" c.py').words == ["a b.md", "c.py"]
    assert Invocation("context", "add", "it's here").words == ["it's", "here"]


@pytest.mark.parametrize(
    ("line", "advice"),
    [
        ("/contxt add a.py", "did you mean /context add a.py?"),
        ("/mem", "did you mean /memory?"),
        ("/add a.py", "did you mean /context add a.py?"),
        ("/exit", "did you mean /quit?"),
        ("/context ad a.py", "did you mean /context add a.py?"),
        ("/context a.py", "did you mean /context add a.py?"),
        ("/memory deploys", "did you mean /memory search deploys?"),
        ("/qwertz", "/help lists"),
        ("/", "/help lists"),
        ("/context add", "needs PATH"),
        ("/search", "needs WORDS"),
        ("/compact now", "takes no words"),
    ],
)
def test_a_slip_is_answered_with_what_was_probably_meant(line: str, advice: str) -> None:
    assert is_command(line)
    assert advice in slip(line)


def test_a_surface_allows_commands_or_single_actions() -> None:
    allowed = frozenset({"why", "memory list", "memory search"})

    assert parse("/memory", allowed) == Invocation("memory", "list", "")
    assert "not available" in slip("/memory forget x", allowed)
    assert "not available" in slip("/copy", allowed)
    assert "/help lists the commands" in slip("/modle", allowed)  # and no advice that is not available either
    assert "list, search; did you mean /memory search" in slip("/memory x", allowed)
    assert [one.text for one in choices("/", allowed)] == ["/memory", "/why"]
    assert [one.text for one in choices("/memory ", allowed)] == ["list", "search"]


def test_a_person_from_afar_touches_no_file_and_no_clipboard_here() -> None:
    for line in ("/copy", "/save a.md", "/quit", "/thread x"):
        assert "not available" in slip(line, FROM_AFAR)


def test_the_menu_offers_commands_and_then_their_actions() -> None:
    assert [one.text for one in choices("/co", EVERYTHING)] == ["/context", "/compact", "/copy"]
    (found,) = choices("/context ad", EVERYTHING)
    assert (found.text, found.start) == ("add", len("/context "))
    assert list(choices("/context add ", EVERYTHING)) == []
    assert list(choices("/context add a", EVERYTHING)) == []
    assert list(choices("what /co", EVERYTHING)) == []
    assert "context" in [one.text for one in choices("/help ", EVERYTHING)]


def test_every_command_and_action_has_a_sentence_of_its_own() -> None:
    sentences = [one.meaning for one in COMMANDS] + [one.meaning for each in COMMANDS for one in each.actions]

    assert all(sentences)
    assert all(command.fallback for command in COMMANDS if command.actions)


@given(st.text(max_size=200))
def test_every_line_is_a_command_a_slip_or_a_message(line: str) -> None:
    found = parse(line, EVERYTHING)
    assert isinstance(found, Invocation | CommandSlip)
    if isinstance(found, CommandSlip):
        assert visible(found.reason) == (found.reason, 0)
    list(choices(line, EVERYTHING))
    unescaped(line)


@given(st.sampled_from([one.name for one in COMMANDS]), st.text(max_size=50))
def test_the_words_of_a_command_can_be_anything(name: str, rest: str) -> None:
    found = parse(f"/{name} {rest}", EVERYTHING)
    if isinstance(found, Invocation):
        list(found.words)
    else:
        assert visible(found.reason) == (found.reason, 0)
