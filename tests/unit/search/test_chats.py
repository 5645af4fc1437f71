"""Chats among notes: what is found of them, when it was said, and where it can be read."""

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import pytest

from promptuary.blocking import Promptuary
from promptuary.search.values import Hit, SearchQuery
from tests.conftest import Files
from tests.indexes import search_of

WORDS = "The leaves want water that is hot and not boiling, says the assistant.\n\n"


def hits(workspace: Path, words: str) -> Sequence[Hit]:
    with search_of(workspace) as service:
        service.index([workspace])
        return service.find(SearchQuery(words)).hits


def at(*when: int) -> int:
    return int(datetime(*when, tzinfo=UTC).timestamp())  # type: ignore[arg-type,misc]


def claude(*chats: tuple[str, str, str]) -> str:
    return json.dumps(
        [
            {
                "uuid": str(number),
                "name": title,
                "created_at": f"{day}T10:32:00Z",
                "chat_messages": [
                    {"sender": "human", "text": asked},
                    {"sender": "assistant", "content": [{"type": "text", "text": WORDS * 20}]},
                ],
            }
            for number, (title, day, asked) in enumerate(chats)
        ]
    )


def test_what_was_said_in_an_export_is_found_with_the_title_and_the_date_of_its_chat(files: Files) -> None:
    workspace = files(
        {
            "conversations.json": claude(
                ("Tea", "2023-05-08", "I bought an oolong."), ("Coffee", "2024-06-09", "I sold the grinder.")
            )
        }
    )
    tea, coffee = hits(workspace, "oolong")[0], hits(workspace, "grinder")[0]

    assert (tea.heading, tea.date, tea.kind) == (("Tea",), at(2023, 5, 8, 10, 32), "markdown")
    assert (coffee.heading, coffee.date) == (("Coffee",), at(2024, 6, 9, 10, 32))
    assert "user: I sold the grinder.\nassistant: The leaves" in coffee.text


def test_every_conversation_in_an_export_is_a_document_of_its_own(files: Files) -> None:
    titles = ("Tea", "Coffee", "Milk")
    workspace = files({"conversations.json": claude(*((one, "2023-05-08", f"I bought {one}.") for one in titles))})
    found = hits(workspace, "leaves water boiling")

    assert sorted(hit.heading for hit in found) == [("Coffee",), ("Milk",), ("Tea",)]
    assert all(hit.more for hit in found)


def test_the_place_of_a_hit_in_an_export_shows_the_very_lines_that_were_found(files: Files) -> None:
    workspace = files({"chats/conversations.json": claude(("Tea", "2023-05-08", "I bought an oolong."))})
    hit = hits(workspace, "oolong")[0]
    with Promptuary.open(workspace) as promptuary:
        (outcome,) = promptuary.expand(f"@file:{hit.place}").outcomes
        (block,) = promptuary.expand(f"@file:{hit.place}").blocks

    assert outcome.status == "included"
    assert hit.text in block.text
    assert "shown as a transcript" in block.text


def test_people_in_slack_have_the_names_that_the_file_beside_their_channel_gives_them(files: Files) -> None:
    day = [{"type": "message", "user": "U1", "text": "the zebra is ill", "ts": "1683541931.000100"}]
    workspace = files(
        {
            "slack/users.json": json.dumps([{"id": "U1", "profile": {"real_name": "Anna Lee"}}]),
            "slack/general/2023-05-08.json": json.dumps(day),
        }
    )
    (hit, *_) = hits(workspace, "zebra")

    assert hit.text.endswith("Anna Lee: the zebra is ill")
    assert hit.date == at(2023, 5, 8, 10, 32)


def test_other_json_is_indexed_as_it_is(files: Files) -> None:
    text = '{"mapping": {"zebra": 1}, "title": "x", "chat_messages": []}'
    (hit,) = hits(files({"a.json": text}), "zebra")

    assert (hit.text, hit.kind) == (text, "data")


def test_a_note_that_names_its_speakers_is_a_chat(files: Files) -> None:
    workspace = files(
        {"a.md": "---\nspeakers: [Anna, Ben]\n---\n\n# 8 May 2023\n\nAnna: a zebra\nNote: big\nBen: no\n"}
    )
    (hit,) = hits(workspace, "zebra")

    assert hit.date == at(2023, 5, 8)


@pytest.mark.parametrize("secret", ["ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"])
def test_secrets_in_an_export_are_masked_as_in_any_file(files: Files, secret: str) -> None:
    workspace = files({"conversations.json": claude(("Tea", "2023-05-08", f"the zebra token is {secret}"))})

    assert secret not in hits(workspace, "zebra token")[0].text
