"""Long pastes: folded while they are edited, and sent whole."""

from hypothesis import given
from hypothesis import strategies as st

from promptuary.chat.pastes import MOST_CHARACTERS, MOST_LINES, Pastes, Unfolded

LONG = "\n".join(f"line {number}" for number in range(120))


def test_a_long_paste_is_a_placeholder_and_a_short_one_is_itself() -> None:
    pastes = Pastes()

    assert pastes.folded("a\nb") == "a\nb"
    assert pastes.folded(LONG) == "[Pasted text #1, 120 lines]"
    assert pastes.folded("x" * (MOST_CHARACTERS + 1)) == "[Pasted text #2, 1 line]"
    assert pastes.folded("a\r\n" * MOST_LINES) == "a\n" * MOST_LINES
    assert pastes.folded("a\n" * 2_000) == "[Pasted text #3, 2,000 lines]"


def test_a_message_is_sent_with_the_pasted_text_in_its_place() -> None:
    pastes = Pastes()
    name = pastes.folded(LONG)
    whole = pastes.unfolded(f"See {name} and {name}!")

    assert whole.text == f"See {LONG} and {LONG}!"
    assert [whole.text[start:end] for start, end in whole.pasted] == [LONG, LONG]
    assert whole.unknown == ()


def test_a_placeholder_of_an_earlier_chat_is_told_apart() -> None:
    found = Pastes().unfolded("See [Pasted text #1, 120 lines]")

    assert found == Unfolded("See [Pasted text #1, 120 lines]", (), ("[Pasted text #1, 120 lines]",))


def test_a_pasted_placeholder_is_no_placeholder() -> None:
    pastes = Pastes()
    first = pastes.folded(LONG)
    nested = pastes.folded(f"{first}\n" * 10)

    assert pastes.unfolded(nested).text == f"{first}\n" * 10


@given(st.lists(st.one_of(st.text(max_size=30), st.text(min_size=501, max_size=600)), max_size=6))
def test_whatever_is_pasted_arrives_as_it_was(parts: list[str]) -> None:
    pastes = Pastes()
    shown = "".join(pastes.folded(part) for part in parts)
    normal = [part.replace("\r\n", "\n").replace("\r", "\n") for part in parts]
    found = pastes.unfolded(shown)

    assert found.text == "".join(normal)
    assert all(found.text[start:end] in normal for start, end in found.pasted)
