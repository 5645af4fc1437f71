"""Long pastes: folded while they are edited, and sent whole."""

from hypothesis import given
from hypothesis import strategies as st

from promptuary.chat.prompt.pastes import MOST_CHARACTERS, MOST_LINES, ExpandedPaste, Pastes

LONG = "\n".join(f"line {number}" for number in range(120))


def test_a_long_paste_is_shown_as_a_placeholder_and_a_short_one_as_itself() -> None:
    pastes = Pastes()

    def shown(text: str) -> str:
        return pastes.shown(pastes.folded(text))

    assert shown("a\nb") == "a\nb"
    assert shown(LONG) == "[Pasted text #1, 120 lines]"
    assert shown("x" * (MOST_CHARACTERS + 1)) == "[Pasted text #2, 1 line]"
    assert shown("a\r\n" * MOST_LINES) == "a\n" * MOST_LINES
    assert shown("a\n" * 2_000) == "[Pasted text #3, 2,000 lines]"


def test_a_message_is_sent_with_the_pasted_text_in_its_place() -> None:
    pastes = Pastes()
    mark = pastes.folded(LONG)
    whole = pastes.unfolded(f"See {mark} and {mark}!")

    assert whole.text == f"See {LONG} and {LONG}!"
    assert [whole.text[start:end] for start, end in whole.pasted] == [LONG, LONG]
    assert whole.literal == ()


def test_words_that_look_like_a_placeholder_are_none_even_if_there_is_such_a_paste() -> None:
    pastes = Pastes()
    pastes.folded(LONG)

    assert pastes.unfolded("See [Pasted text #1, 120 lines]") == ExpandedPaste(
        "See [Pasted text #1, 120 lines]", (), ("[Pasted text #1, 120 lines]",)
    )


def test_a_pasted_placeholder_is_no_placeholder() -> None:
    pastes = Pastes()
    first = pastes.shown(pastes.folded(LONG))
    whole = pastes.unfolded(pastes.folded(f"{first}\n" * 10))

    assert whole == ExpandedPaste(f"{first}\n" * 10, ((0, len(whole.text)),))


def test_a_character_that_stands_for_a_paste_cannot_be_smuggled_in() -> None:
    pastes = Pastes()
    mark = pastes.folded(LONG)

    assert pastes.unfolded(pastes.folded(f"short {mark}")).text == f"short {mark}"


@given(st.lists(st.one_of(st.text(max_size=30), st.text(min_size=501, max_size=600)), max_size=6))
def test_whatever_is_pasted_arrives_as_it_was(parts: list[str]) -> None:
    pastes = Pastes()
    shown = "".join(pastes.folded(part) for part in parts)
    normal = [part.replace("\r\n", "\n").replace("\r", "\n") for part in parts]
    found = pastes.unfolded(shown)

    assert found.text == "".join(normal)
    assert all(found.text[start:end] in normal for start, end in found.pasted)
