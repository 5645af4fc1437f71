"""Markdown in chats: each platform has its own marks, nobody is called, no link hides, and nothing is lost."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptuary.gateways.texts.chunking import MAX_GROWTH, chunks, close_fence
from promptuary.gateways.texts.discord_markdown import discord_markdown
from promptuary.gateways.texts.entities import Entity, units, with_entities
from promptuary.gateways.texts.markdown import Link, code, escape, fence, pieces, with_tables_as_code
from promptuary.gateways.texts.mrkdwn import mrkdwn

PIECES = st.one_of(
    st.sampled_from(
        [
            *(
                "**bold**",
                "*it*",
                "__",
                "~~gone~~",
                "`x`",
                "``",
                "```\n",
                "```python\n",
                "\n```\n",
                "~~~\n",
                "# H",
                "\n",
            ),
            *(
                "- one\n",
                "1. two\n",
                "> said\n",
                "    indented\n",
                "\n\n",
                "| a | b |\n|---|---|\n| 1 | 2 |\n",
                "---\n",
            ),
            *(
                "[text](http://a.example/x)",
                "[http://bank.example](http://evil.example)",
                "![p](http://a.example/?q=1)",
            ),
            *(
                "@everyone",
                "<!channel>",
                "<@U1>",
                "<@900>",
                "@ada_bob",
                "<#C1>",
                "||spoiler||",
                "-# small",
                "\\",
                "&amp;",
            ),
        ]
    ),
    st.text(alphabet="ab é漢🙂`~*_[]()<>@#>-|\\!\n\ud800\u200b\u202e", max_size=30),
)
TEXTS = st.lists(PIECES, max_size=30).map("".join)
MESSAGE = (
    "# Plan\n**Do** *it* ~~now~~ with `f(x)`:\n\n- see [the guide](https://a.example/g_1)\n- or not\n\n> said she\n> so"
)


def cut(shown: str, entities: tuple[Entity, ...]) -> list[tuple[str, str]]:
    """Return the kind and the text of each entity, cut out as Telegram does it."""
    data = shown.encode("utf-16-le", "surrogatepass")
    parts = [(one.kind, data[one.offset * 2 : (one.offset + one.length) * 2]) for one in entities]
    return [(kind, part.decode("utf-16-le", "surrogatepass")) for kind, part in parts]


def test_telegram_gets_a_text_without_marks_and_where_what_is() -> None:
    shown, entities = with_entities(f"🙂 {MESSAGE}".replace("🙂 #", "🙂\n#"))

    assert shown == "🙂\nPlan\nDo it now with f(x):\n\n• see the guide\n• or not\n\n> said she\n> so"
    assert cut(shown, entities) == [
        *(("bold", "Plan"), ("bold", "Do"), ("italic", "it"), ("strikethrough", "now"), ("code", "f(x)")),
        ("text_link", "the guide"),
    ]
    assert entities[-1].url == "https://a.example/g_1"


def test_slack_and_discord_get_their_own_marks() -> None:
    assert mrkdwn(MESSAGE) == (
        "*Plan*\n*Do* _it_ ~now~ with `f(x)`:\n\n• see <https://a.example/g_1|the guide>\n• or not\n\n>said she\n>so"
    )
    assert discord_markdown(MESSAGE) == (
        "**Plan**\n**Do** *it* ~~now~~ with `f(x)`:\n\n• see [the guide](<https://a.example/g_1>)\n• or not\n\n"
        "> said she\n> so"
    )


def test_code_keeps_every_character_and_its_language_where_the_platform_has_languages() -> None:
    text = "```python\nif a < b & c:\n    pass\n```"
    shown, entities = with_entities(text)

    assert cut(shown, entities) == [("pre", "if a < b & c:\n    pass")]
    assert entities[0].language == "python"
    assert mrkdwn(text) == "```\nif a &lt; b &amp; c:\n    pass\n```"
    assert discord_markdown(text) == text


def test_a_style_ends_where_code_begins_and_goes_on_behind_it() -> None:
    shown, entities = with_entities("**see `x` there**")

    assert cut(shown, entities) == [("bold", "see "), ("code", "x"), ("bold", " there")]


@pytest.mark.parametrize(
    "label",
    [
        *(
            "https://bank.example",
            "bank.example",
            "bank．example",
            "bank。example",
            "//bank",
            "a@b",
            "x\u202ey",
            "a\u200bb",
        ),
        *("mailto:a", "bank․example", "**bank.example**", "[bank.example]"),
    ],
)
def test_a_link_does_not_hide_behind_what_looks_like_another_address(label: str) -> None:
    text = f"[{label}](https://evil.example/x)"

    assert not any(isinstance(one, Link) for one in pieces(text))
    assert not any(one.kind == "text_link" for one in with_entities(text)[1])
    for shown in (with_entities(text)[0], mrkdwn(text), discord_markdown(text)):
        assert "(https://evil.example/x)" in shown
        assert "|" not in shown


@pytest.mark.parametrize("url", ["javascript:alert(1)", "tg://user?id=1", "https://bank.example@evil.example", "x.md"])
def test_only_a_plain_address_of_a_page_is_a_link(url: str) -> None:
    assert not any(isinstance(one, Link) for one in pieces(f"[the guide]({url})"))


@pytest.mark.parametrize("end", ["|bank.example", "%7Cbank", ">x", '"', "\\|b", "[b](http://c)", "é", "`x`"])
def test_an_address_cannot_end_the_mark_of_its_link(end: str) -> None:
    text = f"[the guide](<https://a.example/{end}>)"

    assert re.fullmatch(r"<https://a\.example/[^|<>]*\|the guide>|[^<]*", mrkdwn(text)), mrkdwn(text)
    assert re.fullmatch(
        r"\[the guide\]\(<https://a\.example/[^<>]*>\)|[^[]*", re.sub(r"\\.", "x", discord_markdown(text))
    )


def test_a_label_cannot_be_defined_elsewhere() -> None:
    text = "[the guide]\n\n[the guide]: https://evil.example/" + "x" * 100

    assert not any(isinstance(one, Link) for one in pieces(text))


def test_nobody_is_called() -> None:
    text = "@everyone @here <!channel> <!here|x> <@U1> <@900> <@&5> <#C1> @ada_bob *@ada_bob* a@example.org"
    shown, entities = with_entities(text)

    assert ("code", "@ada_bob") in cut(shown, entities)
    assert not set(re.findall(r"@\w{3,}", "".join(_outside(shown, entities))))
    assert re.search(r"<[!@#]", mrkdwn(text)) is None
    assert re.search(r"(?<!\\)<[@#!]|@everyone|@here", discord_markdown(text)) is None


def _outside(shown: str, entities: tuple[Entity, ...]) -> list[str]:
    for kind, part in cut(shown, entities):
        if kind in {"code", "pre"}:
            shown = shown.replace(part, " ", 1)
    return [shown]


def test_more_names_than_telegram_takes_entities_call_nobody_either() -> None:
    shown, entities = with_entities("**x** " * 90 + "@ada_bob " * 101)

    assert entities == ()
    assert "@ada_bob" not in shown
    assert len(with_entities("**x** " * 101 + "@ada_bob")[1]) == 1


def test_code_cannot_end_its_own_fence() -> None:
    text = "````\n```\n[https://bank.example](https://evil.example)\n```\n````"

    assert discord_markdown(text).count("```") == 2
    assert mrkdwn(text).count("```") == 2


def test_a_table_is_drawn_as_code() -> None:
    text = "So:\n\n| what | **cost** |\n|:--|--:|\n| `a_b` | 5 |\n| long one | 1,000 |\n\nDone."

    assert with_tables_as_code(text) == ("So:\n\n```\nwhat       cost\na_b           5\nlong one  1,000\n```\n\nDone.")
    assert with_tables_as_code("a | b, and no table") == "a | b, and no table"
    assert with_tables_as_code("```\n| a |\n|---|\n```") == "```\n| a |\n|---|\n```"


def test_a_table_with_one_long_cell_does_not_fill_a_chat_with_blanks() -> None:
    text = "| a | b |\n|---|---|\n" + f"| {'x' * 1000} | 1 |\n" + "| y | 2 |\n" * 200

    assert len(with_tables_as_code(text)) < 2 * len(text)


@given(TEXTS)
def test_plain_text_is_shown_as_it_is(text: str) -> None:
    plain = re.sub(r"\s+", " ", text).strip()
    shown, entities = with_entities(escape(plain))

    assert not plain or shown == plain
    assert {one.kind for one in entities} <= {"code"}
    for marked, shape in ((code(plain), "code"), (fence(plain), "pre")):
        if plain:
            text_of, found = with_entities(marked)
            assert (text_of, [one.kind for one in found]) == (plain, [shape])


@given(TEXTS)
def test_entities_are_inside_the_text_and_code_overlaps_nothing(text: str) -> None:
    shown, entities = with_entities(text)

    assert all(0 <= one.offset < one.offset + one.length <= units(shown) for one in entities)
    alone = [one for one in entities if one.kind in {"code", "pre", "text_link"}]
    for one in alone:
        others = [other for other in entities if other is not one]
        assert all(o.offset + o.length <= one.offset or one.offset + one.length <= o.offset for o in others)


@given(TEXTS)
def test_whatever_is_written_calls_nobody_and_no_link_hides(text: str) -> None:
    for opened in re.findall(r"<[^>]*>?", mrkdwn(text)):
        assert re.fullmatch(r"<https?://[^|<>]+\|[\w\s'’\"“”,!?()&;–—-]+>", opened), opened
    # Without code, which Discord reads as such; what is escaped is a letter.
    words = re.sub(
        r"```.*?```|``.*?``|`[^`]*`", "", re.sub(r"\\.", "x", discord_markdown(text), flags=re.DOTALL), flags=re.DOTALL
    )
    assert "@everyone" not in words
    for label in re.findall(r"\[([^\]]*)\]\(", words):
        assert "." not in label
        assert "/" not in label


@given(TEXTS)
def test_no_text_grows_more_than_the_cutting_of_messages_expects(text: str) -> None:
    for size in (len(mrkdwn(text)), len(discord_markdown(text)), units(with_entities(text)[0])):
        assert size <= max(len(text), 1) * MAX_GROWTH


@given(TEXTS, st.sampled_from([mrkdwn, discord_markdown]))
def test_every_piece_fits_as_the_platform_counts_it(text: str, shown: object) -> None:
    def size(piece: str) -> int:
        return len(shown(piece))  # type: ignore[operator]

    cut_up = chunks(text * 3, 600, size)

    assert all(size(piece) <= 600 for piece in cut_up)


def test_what_follows_code_that_is_not_closed_is_no_code() -> None:
    assert close_fence("So:\n```python\nx = 1") == "So:\n```python\nx = 1\n```"
    assert close_fence("Done.") == "Done."
