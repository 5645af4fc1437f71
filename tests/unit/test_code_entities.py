"""Code in messages of Telegram: every mark is where code is, and nothing but the marks is gone."""

import re

from hypothesis import given
from hypothesis import strategies as st

from promptuary.gateways.code_entities import CodeEntity, with_code_marked

PIECES = st.one_of(
    st.sampled_from(["```\n", "```python\n", "~~~\n", "````\n", "\n", "`", "``", "x = 1\n", "\n```\n", "\n```"]),
    st.text(alphabet="ab é漢🙂`~\n\ud800", max_size=30),
)
TEXTS = st.lists(PIECES, max_size=40).map("".join)


def parts(shown: str, entities: list[CodeEntity]) -> list[str]:
    """Return the code, cut out as Telegram does it."""
    units = shown.encode("utf-16-le", "surrogatepass")
    found = [units[one.offset * 2 : (one.offset + one.length) * 2] for one in entities]
    return [one.decode("utf-16-le", "surrogatepass") for one in found]


def test_blocks_and_words_of_code_are_marked() -> None:
    shown, entities = with_code_marked("🙂 Call `f(x)`:\n\n```python\ndef f(x):\n    return x\n```\nDone.")

    assert shown == "🙂 Call f(x):\n\ndef f(x):\n    return x\nDone."
    assert [(one.offset, one.language) for one in entities] == [(8, None), (15, "python")]
    assert parts(shown, entities) == ["f(x)", "def f(x):\n    return x"]


def test_a_block_that_is_not_closed_yet_is_code() -> None:
    shown, entities = with_code_marked("So:\n```\nx = `1`")

    assert shown == "So:\nx = `1`"
    assert parts(shown, entities) == ["x = `1`"]


def test_what_would_leave_nothing_or_has_too_many_marks_stays_as_it_is() -> None:
    for text in ("```\n\n```", "`a` " * 101, "no code, *at all*", "``` x``` y"):
        assert with_code_marked(text) == (text, [])


@given(TEXTS)
def test_marks_are_inside_the_text_apart_and_only_marks_are_gone(text: str) -> None:
    shown, entities = with_code_marked(text)

    ends = [0, *(one.offset + one.length for one in entities)]
    assert all(end <= one.offset for end, one in zip(ends, entities, strict=False))
    assert ends[-1] <= len(shown.encode("utf-16-le", "surrogatepass")) // 2
    assert all(code.strip() and code in text for code in parts(shown, entities))
    marks = re.compile(r"(`{3,}|~{3,})[ \t]*[\w+#.-]*|[`~\s]")  # fences with their languages
    assert marks.sub("", shown) == marks.sub("", text)
