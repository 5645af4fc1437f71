"""Whatever a note says, forgetting takes all of it out of a prompt, and nothing else."""

import json

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from promptuary.base.blocks import Block
from promptuary.base.messages import Item
from promptuary.database.contents import mark, mentioned
from promptuary.layers.layer import Recall
from promptuary.memory.layer import HEADING
from promptuary.memory.recall.digest import Remembered, digest
from promptuary.memory.recall.note_blocks import note_block, note_source
from promptuary.memory.redaction import holds, item_without_blocks, passages, without_blocks, without_words
from promptuary.memory.values import Note, NoteTrust
from promptuary.references.detail import whole
from promptuary.references.render import render_message
from tests.notes import COUNTER, NOW, note

ADDRESS = "memory:forgotten"
TRUSTS: st.SearchStrategy[NoteTrust] = st.sampled_from(["person", "agent", "external"])
TEXTS = st.lists(
    st.one_of(
        st.sampled_from(
            [
                *("# Message", "## Notes", "## memory:forgotten", "memory:forgotten; saved today", "```", "````md"),
                *("- x (memory:forgotten)", "- y (memory:other-note, shared)", "<external 0123>", "", "[forgotten: x]"),
                *("# Attached context", "## Not attached", "\u2028", "\r", "{#a}"),
            ]
        ),
        st.text(max_size=30),
    ),
    max_size=6,
).map("\n".join)


def recalled(*notes: Note) -> str:
    blocks = [note_block(one, 0, 10_000, COUNTER, NOW) for one in notes]
    return Recall([one for one in blocks if one is not None], HEADING).text


@given(TEXTS, TEXTS, TEXTS, TRUSTS, TRUSTS)
def test_the_block_of_a_note_is_taken_out_and_every_other_stays(
    body: str, title: str, other: str, trust: NoteTrust, others_trust: NoteTrust
) -> None:
    gone = note("forgotten", body, title=title or "t", trust=trust)
    # A note that imitates the list of notes loses the line that names the forgotten one.
    stays = note("other-note", other.replace("(memory:forgotten)", ""), title="Other", trust=others_trust)
    (block,) = [note_block(gone, 0, 10_000, COUNTER, NOW)]
    assert block is not None
    for notes in ([gone, stays], [stays, gone], [gone]):
        text = recalled(*notes)
        assert without_blocks(text, ADDRESS) == text.replace(block.text, mark(ADDRESS), 1)


@given(TEXTS, TEXTS, TRUSTS)
def test_the_line_of_a_note_is_taken_out_of_the_digest(title: str, summary: str, trust: NoteTrust) -> None:
    gone = note("forgotten", "x", title=title or "t", summary=summary, trust=trust)
    stays = note("other-note", "y", title="Stays here")
    made = [digest(Remembered([one.header for one in notes], 2), 10_000, COUNTER) for notes in ([gone, stays], [stays])]
    assert made[0] is not None
    assert made[1] is not None
    before, left = made[0].text, without_blocks(made[0].text, ADDRESS)

    (line,) = [one for one in before.split("\n") if one.endswith("(memory:forgotten)")]
    assert left == before.replace(line, f"- {mark(ADDRESS)}", 1)
    assert ADDRESS in mark(ADDRESS)
    assert "forgotten" in mentioned(before)


@given(TEXTS, TEXTS, TEXTS, TRUSTS, st.sampled_from([None, "", f"@{ADDRESS}", '@memory:"what; which"']))
def test_what_else_was_attached_and_the_words_stay_where_they_were(
    body: str, other: str, words: str, trust: NoteTrust, asked: str | None
) -> None:
    def attached(one: Note) -> Block:
        return whole(replace(note_source(one, NOW), asked=asked), COUNTER)

    gone = attached(note("forgotten", body, trust=trust))
    stays = attached(note("other-note", other.replace("(memory:forgotten)", "")))
    made = render_message(words, [stays, gone, stays], [])
    item = Item("i", "user", made.content, attachments=made.attachments, words_start=made.words_start)
    left = item_without_blocks(item, ADDRESS)

    assert left.words == words
    assert left.content == made.content.replace(gone.text.removesuffix("\n\n"), mark(ADDRESS), 1)
    for before, after in zip(item.attachments, left.attachments, strict=True):
        is_gone = before.source == ADDRESS
        shown = "" if is_gone else item.content[before.start : before.end]
        assert left.content[after.start : after.end] == shown
    assert item_without_blocks(left, ADDRESS) == left
    assert without_blocks(made.content, ADDRESS) == left.content


@given(
    TEXTS,
    TEXTS,
    st.lists(
        st.sampled_from(["The key lies", '"Quoted" first', "under the  pot", 'of "Ada"', "ä😀ß", "C:\\new\\"]),
        min_size=4,
    ),
)
def test_words_are_taken_out_of_text_and_of_json_however_they_are_spaced(
    before: str, after: str, words: list[str]
) -> None:
    said = " ".join(words)
    wanted = passages([said])
    spaced = f"{before} {said.replace(' ', chr(10) + ' ')} {after}"
    assert holds(spaced, wanted)
    assert not holds(without_words(spaced, ADDRESS, wanted), wanted)
    for ascii_only in (True, False):
        packed = json.dumps({"said": [spaced, 1]}, ensure_ascii=ascii_only)
        assert holds(packed, wanted)
        left = json.loads(without_words(packed, ADDRESS, wanted))
        assert mark(ADDRESS) in left["said"][0]
        assert not holds(json.dumps(left), wanted)
