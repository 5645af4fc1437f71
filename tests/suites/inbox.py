"""The contract of every store of received messages: subclass, and add ``inbox``, an empty ``InboxStore``."""

from msgspec.structs import replace

from promptuary.gateways.inbox_store import InboxStore

BODY = {"text": "Hello ä \ud800", "user": "42", "attachments": [{"name": "a.pdf"}]}


class InboxConformance:
    """The contract of an ``InboxStore``."""

    def test_what_is_received_waits_in_order(self, inbox: InboxStore) -> None:
        one, two = inbox.receive("bot", "7", "1", BODY), inbox.receive("bot", "8", "1", BODY)

        assert one is not None
        assert two is not None
        assert [(found.number, found.chat, found.message) for found in inbox.list_unanswered("bot")] == [
            (one, "7", "1"),
            (two, "8", "1"),
        ]
        assert inbox.list_unanswered("bot")[0].body == BODY
        assert not inbox.list_unanswered("bot")[0].begun

    def test_a_message_is_received_once(self, inbox: InboxStore) -> None:
        first = inbox.receive("bot", "7", "1", BODY)
        assert first is not None

        assert inbox.receive("bot", "7", "1", {"text": "again"}) is None
        inbox.mark_answered(first)
        assert inbox.receive("bot", "7", "1", BODY) is None
        assert inbox.receive("other", "7", "1", BODY) is not None
        assert inbox.receive("bot", "7", "2", BODY) is not None

    def test_gateways_are_apart(self, inbox: InboxStore) -> None:
        inbox.receive("bot", "7", "1", BODY)
        inbox.set_note("bot", "7", "found", ["a"])

        assert inbox.list_unanswered("other") == []
        assert inbox.last_messages("other") == {}
        assert inbox.get_note("other", "7", "found") is None

    def test_an_edit_counts_until_an_answer_is_begun(self, inbox: InboxStore) -> None:
        number = inbox.receive("bot", "7", "1", BODY)
        assert number is not None

        assert inbox.edit("bot", "7", "1", BODY) == "same"
        assert inbox.edit("bot", "7", "1", {"text": "better"}) == "replaced"
        assert inbox.list_unanswered("bot")[0].body == {"text": "better"}
        inbox.begin(number)
        assert inbox.edit("bot", "7", "1", {"text": "late"}) == "late"
        inbox.mark_answered(number)
        assert inbox.edit("bot", "7", "1", {"text": "later"}) == "late"
        assert inbox.edit("bot", "7", "9", {"text": "?"}) == "unknown"

    def test_what_was_begun_is_known_after_it(self, inbox: InboxStore) -> None:
        number = inbox.receive("bot", "7", "1", BODY)
        assert number is not None

        first, second = inbox.begin(number), inbox.begin(number)
        assert first is not None
        assert second is not None
        assert (first.begun, second.begun) == (False, True)
        assert replace(first, begun=True) == second

    def test_parts_are_known_before_and_after_they_are_sent(self, inbox: InboxStore) -> None:
        number = inbox.receive("bot", "7", "1", BODY)
        assert number is not None
        inbox.begin(number)
        inbox.mark_sending(number, 0)
        assert [(part, one.message) for part, one in inbox.list_unanswered("bot")[0].sent.items()] == [(0, "")]
        inbox.mark_sent(number, 0, "100")
        inbox.mark_sending(number, 0)  # once more, after a restart
        inbox.mark_sending(number, 1)
        inbox.mark_sending(number, 5)
        inbox.store_answer(number, "All of it.")

        found = inbox.list_unanswered("bot")[0]
        assert (found.answer, found.begun) == ("All of it.", True)
        assert {part: one.message for part, one in found.sent.items()} == {0: "100", 1: "", 5: ""}
        assert all(one.since and not one.repeated for one in found.sent.values())

    def test_that_a_part_was_sent_again_stays_known(self, inbox: InboxStore) -> None:
        number = inbox.receive("bot", "7", "1", BODY)
        assert number is not None
        inbox.begin(number)
        inbox.mark_sending(number, 0)
        first = inbox.list_unanswered("bot")[0].sent[0]
        inbox.mark_sending(number, 0, again=True)
        inbox.mark_sent(number, 0, "100")
        inbox.mark_sending(number, 0)

        assert inbox.list_unanswered("bot")[0].sent[0] == replace(first, message="100", repeated=True)

    def test_an_answered_message_waits_no_more(self, inbox: InboxStore) -> None:
        number = inbox.receive("bot", "7", "1", BODY)
        assert number is not None
        inbox.begin(number)
        inbox.mark_answered(number)

        assert inbox.list_unanswered("bot") == []
        assert inbox.begin(number) is None

    def test_the_last_message_of_each_chat_is_known(self, inbox: InboxStore) -> None:
        for chat, message in (("7", "1"), ("8", "5"), ("7", "3")):
            inbox.receive("bot", chat, message, BODY)

        assert list(inbox.last_messages("bot").items()) == [("7", "3"), ("8", "5")]

        assert inbox.last_messages("bot", most=1) == {"7": "3"}

    def test_something_is_noted_of_a_chat(self, inbox: InboxStore) -> None:
        assert inbox.get_note("bot", "7", "found") is None
        inbox.set_note("bot", "7", "found", ["@file:a.md", "@file:ü.md"])
        assert inbox.get_note("bot", "7", "found") == ["@file:a.md", "@file:ü.md"]
        inbox.set_note("bot", "7", "found", None)
        assert inbox.get_note("bot", "7", "found") is None

    def test_what_is_old_and_answered_goes_but_for_the_last_of_a_chat(self, inbox: InboxStore) -> None:
        numbers = [inbox.receive("bot", "7", str(one), BODY) for one in range(4)]
        for number in numbers[:2]:
            assert number is not None
            inbox.mark_answered(number)

        assert inbox.prune("1999") == 0
        assert inbox.prune("9999") == 2
        assert [one.message for one in inbox.list_unanswered("bot")] == ["2", "3"]
        assert inbox.last_messages("bot") == {"7": "3"}
