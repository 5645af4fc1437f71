"""Chats are recognised by their turns and cut between them; what only looks similar stays what it is."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from promptuary.search.chunks.chunker import chunks
from promptuary.search.chunks.lines import Lines, Sizes
from promptuary.search.chunks.transcript import transcript
from promptuary.search.values import Chunk
from promptuary.tokens.counting import Counter

REPOSITORY = Path(__file__).parents[4]


def at(*when: int) -> int:
    return int(datetime(*when, tzinfo=UTC).timestamp())  # type: ignore[arg-type,misc]


def cut(text: str, path: str = "chat.md", tokens: int = 256) -> list[Chunk]:
    return chunks(text, path, Sizes(tokens, min(32, tokens // 2)), Counter())


def own(text: str, path: str = "chat.md") -> str:
    return "\n".join(chunk.own for chunk in cut(text, path))


WITH_ASSISTANT = {
    "roles": "user: I like green tea.\nassistant: Good choice!\nuser: More?\nassistant: No.",
    "one question": "user: I like green tea.\nMore?\nassistant: Good choice!\n\n# Teas\n\n* Note: hot",
    "human and AI": "Human: I like green tea.\n\nAI: Good choice!\n\nHuman: More?\n\nAI: No.",
    "with a system prompt": "System: You help.\nUser: I like green tea.\nAssistant: Good!\nUser: More?",
    "bold": "**User:** I like green tea.\n\n**Assistant:** Good!\n\n**User**: More?\n",
    "bold lines": "**User**\n\nI like green tea.\n\n**Assistant**\n\nGood!\n\n**User**\n\nMore?",
    "headings": "## User\n\nI like green tea.\n\n## Assistant\n\nGood!\n\n## User\n\nMore?\n",
    "headings with marks": "# Tea\n\n### 🧑 User\n\nI like green tea.\n\n### 🤖 ChatGPT:\n\nGood!\n\n"
    "### 🧑 User\n\nMore?",
    "as pasted": "You said:\nI like green tea.\nChatGPT said:\nGood!\nYou said:\nMore?\n",
    "with a model": "Me: I like green tea.\nGPT-4o: Good!\nMe: More?\nGPT-4o: No.",
    "German": "Nutzer: I like green tea.\nAssistent: Gut!\nNutzer: More?\nAssistent: Nein.",
    "under a title": "---\ntitle: Tea\n---\n\n# Tea\n\n2023-05-08\n\n"
    "user: I like green tea.\nassistant: Good!\nuser: More?",
}


@pytest.mark.parametrize("name", WITH_ASSISTANT)
@pytest.mark.parametrize("path", ["chat.md", "chat.txt"])
def test_the_own_words_of_a_chat_with_an_assistant_are_what_the_person_says(name: str, path: str) -> None:
    said = [line for line in own(WITH_ASSISTANT[name], path).split("\n") if line.strip()]

    assert said == ["I like green tea.", "More?"]


BETWEEN_PEOPLE = {
    "names": "Anna: hi, how are you?\nBen: I am fine.\nAnna: Good.\nBen: You?\nAnna: Tired.\nBen: Oh no!",
    "times before": "[10:32] anna: hi you\n[10:33] ben: hello\n[10:33] ben: well\n[10:35] anna: what?",
    "times after": "Anna [10:32]: hi you\nBen [10:33]: hello\nAnna [10:34]: what?\nBen [10:35]: ok",
    "lines above": "Anna  10:32 AM\nhi you\nBen  10:33 AM\nhello\nwell\nAnna  10:34 AM\nwhat?\nBen  10:36 AM\nok",
    "brackets above": "anna [10:32 AM]\nhi you\nben [10:33 AM]\nhello\nanna [10:34 AM]\nwhat?\nben [10:36 AM]\nok",
    "dates above": "Anna — 05/08/2023 10:32 AM\nhi you\nBen — Today at 10:33 AM\nhello\nAnna — 10:35 AM\nok\n"
    "Ben — 10:36\nno",
    "exported": "08/05/2023, 10:32 - Anna: hi you\n08/05/2023, 10:33 - Ben: hello\n13/05/2023, 10:33 - Anna: what?\n"
    "13/05/2023, 10:36 - Ben: not much",
    "nicks": "10:32 <anna> hi you\n10:33 <@ben> hello\n10:34 <anna> what?\n10:35 <@ben> ok",
    "a meeting": "Speaker 1  0:03\nShall we begin?\nSpeaker 2  0:09\nYes.\nSpeaker 1  0:12\nThanks.\nSpeaker 3  0:15\n"
    "I agree.\nSpeaker 1  0:20\nGood.\nSpeaker 2  0:30\nNext.",
}


@pytest.mark.parametrize("name", BETWEEN_PEOPLE)
@pytest.mark.parametrize("path", ["chat.md", "chat.txt"])
def test_in_a_chat_between_people_everything_is_their_own(name: str, path: str) -> None:
    assert own(BETWEEN_PEOPLE[name], path) == BETWEEN_PEOPLE[name]


ORDINARY = {
    "notes": "Note: one thing\n\nText.\n\nNote: another\nWarning: you see\nNote: I mean it\nTip: do you?\n" * 3,
    "records": "Name: Ada\nEmail: a@b\nPhone: 1\n\n" * 5,
    "unusual records": "Breed: I do not know\nColour: you see it!\nWeight: 3\n\n" * 5,
    "settings": "user: alice\nsystem: linux\nmodel: t480\nhost: here\n",
    "a play with two lines": "Hamlet: To be, or not to be?\nOphelia: I do not know, my lord.\n",
    "a mail": "From: Ada\nTo: Ben\nSubject: hi\nDate: today\n\nHi Ben, how are you?\n\nI am fine.\n",
    "a log": "[10:32] INFO: ready\n[10:33] worker1: begin\n[10:34] worker2: begin\n[10:35] worker1: end\n" * 5,
    "questions": "Q: What do you do?\nA: I index.\nQ: Why?\nA: You ask!\nQ: More?\nA: No.\n",
    "steps": "Given: you have a file\nWhen: I open it\nThen: you see it!\n" * 4,
    "a definition": "User: somebody who types.\n\nText about many things, on many lines.\n\n"
    "Assistant: something that answers.\n",
    "an example in prose": f"{'Some prose about prompts.' * 5}\n\nuser: hi\nassistant: hello\n\nMore prose.\n",
    "an example in code": "# Prompts\n\n```\nuser: hi\nassistant: hello\nuser: more?\nassistant: no\n```\n\nText.\n",
    "changes": "Added: I like it!\nFixed: you see?\n" * 6,
    "agenda": "10:00 Breakfast\n11:00 Talk\n12:00 Lunch\n13:00 Talk\n",
    "headings with names": "## Anna\n\nI like her. Do you?\n\n## Ben\n\nHi!\n\n## Anna\n\nOk?\n\n## Ben\n\nYes!\n",
    "nothing": "",
}


@pytest.mark.parametrize("name", ORDINARY)
@pytest.mark.parametrize("path", ["note.md", "note.txt"])
def test_what_only_looks_like_a_chat_has_no_own_words(name: str, path: str) -> None:
    assert own(ORDINARY[name], path).strip() == ""


def test_no_page_of_this_project_is_taken_for_a_chat() -> None:
    pages = [*REPOSITORY.glob("*.md"), *REPOSITORY.glob("docs/**/*.md"), *REPOSITORY.glob("bench/*.md")]

    assert len(pages) > 10
    assert [page.name for page in pages if transcript(Lines(page.read_text(encoding="utf-8")))] == []


@pytest.mark.parametrize("path", ["chat.yaml", "chat.json", "chat.py", "chat.rst"])
def test_only_markdown_and_plain_text_can_be_chats(path: str) -> None:
    assert own(WITH_ASSISTANT["roles"], path).strip() == ""


def test_a_chunk_is_whole_turns() -> None:
    turns = [
        f"{name}: I say sentence number {number} to you, and more words."
        for number in range(30)
        for name in ("Anna", "Ben")
    ]
    found = cut("\n".join(turns), tokens=64)

    assert len(found) > 5
    assert [line for chunk in found for line in chunk.text.split("\n")] == turns


def test_several_lines_of_one_turn_stay_together() -> None:
    turn = "user: I ask you about tea\nand about coffee\n\nand about milk?\nassistant: One.\n\nTwo.\n"
    found = cut(turn * 20, tokens=48)

    assert len(found) > 5
    assert all(chunk.text.startswith("user: ") and chunk.text.endswith("Two.") for chunk in found)


def test_a_question_stays_with_the_beginning_of_a_reply_that_is_too_long_for_one_chunk() -> None:
    question = "user: I would like to know everything about tea, please tell me?"
    reply = "\n\n".join(f"Paragraph {number} of the reply is about tea." for number in range(40))
    first, second, *_ = cut(f"{question}\n\nassistant: Gladly.\n\n{reply}\n\nuser: Thanks!", tokens=64)

    assert first.text.startswith(question)
    assert "assistant: Gladly." in first.text
    # The first chunk of a conversation has what is said in all of it.
    assert first.own == f"{question.removeprefix('user: ')}\nThanks!"
    assert second.own == ""


def test_a_question_before_a_reply_in_one_long_line_keeps_its_title_and_its_date() -> None:
    line = "The reply is one line that is too long for a chunk. " * 20
    first, second = cut(f"# Tea\n\n2023-05-08\n\nuser: I ask you about tea?\nassistant: {line}\n", tokens=64)

    assert first.text == "# Tea\n\n2023-05-08\n\nuser: I ask you about tea?"
    assert second.text == f"assistant: {line}"
    assert first.date == second.date == at(2023, 5, 8)


def test_a_chunk_after_a_heading_has_the_date_of_that_heading() -> None:
    talk = "user: I ask you?\nassistant: Yes.\n"
    found = cut(f"# 2023-05-08\n\n{talk * 20}\n# 2024-06-09\n\n{talk * 20}", tokens=64)

    assert [chunk.date for chunk in found if chunk.text.startswith("# ")] == [at(2023, 5, 8), at(2024, 6, 9)]


def test_a_person_with_a_name_talks_to_an_assistant() -> None:
    text = "Anna: can you help me?\nChatGPT: Yes.\nAnna: Good.\nChatGPT: So?\nAnna: I forgot.\nChatGPT: Oh."

    assert own(text) == "can you help me?\nGood.\nI forgot."


def test_a_label_in_a_message_is_no_speaker() -> None:
    text = "user: list it\nassistant: Here:\nPros: cheap\nCons: slow\nuser: thanks\nNote: I mean it"

    assert own(text) == "list it\nthanks\nNote: I mean it"


def test_the_headings_of_a_reply_are_no_sections() -> None:
    found = cut("# Tea\n\nuser: tell me\nassistant: Here\n\n# Kinds\n\nGreen.\n\nuser: thanks\nassistant: Bye")

    assert [chunk.heading for chunk in found] == [("Tea",)]


def test_the_date_of_a_chat_is_that_of_the_heading_above_it() -> None:
    talk = "".join(f"Anna: I ask you {n}?\nBen: I answer {n}.\n" for n in range(12))
    found = cut(f"# Chats\n\n## 8 May 2023\n\n{talk}\n## 1:56 pm on 9 May, 2023\n\n{talk}", tokens=64)

    assert {chunk.date for chunk in found} == {at(2023, 5, 8), at(2023, 5, 9, 13, 56)}
    assert {chunk.heading for chunk in found} == {("Chats", "8 May 2023"), ("Chats", "1:56 pm on 9 May, 2023")}
    assert not any("8 May" in chunk.text and "9 May" in chunk.text for chunk in found)


def test_a_line_with_a_date_begins_another_day() -> None:
    talk = "".join(f"Anna: I ask you {n}?\nBen: I answer {n}.\n" for n in range(12))
    found = cut(f"--- Monday, May 8, 2023 ---\n{talk}--- Tuesday, May 9, 2023 ---\n{talk}", "chat.txt", tokens=64)

    assert [chunk.date for chunk in found] == sorted(chunk.date or 0 for chunk in found)
    assert [chunk.start_line for chunk in found if "May" in chunk.text] == [1, 26]
    assert (found[0].date, found[-1].date) == (at(2023, 5, 8), at(2023, 5, 9))


def test_the_stamps_of_messages_are_their_dates() -> None:
    stamped = "".join(
        f"[{day:02}/05/2023, 10:32] {name}: you and I on day {day}\n"
        for day in range(1, 29)
        for name in ("Anna", "Ben")
    )
    found = cut(stamped, "chat.txt", tokens=64)

    assert found[0].date == at(2023, 5, 1, 10, 32)
    assert [chunk.date for chunk in found] == sorted(chunk.date or 0 for chunk in found)
    assert found[-1].date is not None
    assert found[-1].date > at(2023, 5, 25)


def test_times_alone_are_times_of_the_day_in_the_heading() -> None:
    (chunk,) = cut(
        "# Chat on 2023-05-08\n\n[10:32] anna: hi you\n[10:33] ben: hello\n[10:34] anna: so?\n[10:35] ben: ok"
    )

    assert chunk.date == at(2023, 5, 8, 10, 32)


def test_a_chat_without_dates_leaves_the_date_to_the_file() -> None:
    assert [chunk.date for chunk in cut(WITH_ASSISTANT["roles"])] == [None]


def test_every_chunk_of_a_note_has_its_names() -> None:
    found = cut(
        f"---\ntitle: Tea\ntags: [drinks]\n---\n\n{'Some text about tea. ' * 20}\n\n" + "More.\n\n" * 40, tokens=48
    )

    assert len(found) > 1
    assert {chunk.names for chunk in found} == {("Tea", "drinks")}
    assert {chunk.own for chunk in found} == {""}


def test_a_chat_is_also_a_note_with_names() -> None:
    (chunk,) = cut(WITH_ASSISTANT["under a title"])

    assert (chunk.names, chunk.start_line, chunk.date) == (("Tea",), 1, at(2023, 5, 8))
