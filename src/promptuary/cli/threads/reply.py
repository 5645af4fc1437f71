"""``promptuary reply``: record what the model answered, which ends the turn that waits in a thread."""

import argparse
import json
import sys
from collections.abc import Sequence
from typing import Any, Final

from promptuary.blocking import Promptuary
from promptuary.cli.common import message, opened, print_json, print_new_notes
from promptuary.cli.threads.waiting import DONE, NOTHING, named, waiting
from promptuary.core.errors import PromptuaryError
from promptuary.core.experiences import Experience
from promptuary.core.json import reply_json
from promptuary.core.ports.writeback import Proposal
from promptuary.core.text import one_line

_MOST_EXPERIENCES: Final = 50
_NOT_JSON: Final = "--response takes JSON, as the provider's API returned it"


def main(options: argparse.Namespace) -> int:
    """Record the answer to the last turn of a thread, and print what came of it."""
    text = message(options, kept=True)
    answer = _parsed(text) if options.response else text
    if not text.strip():
        raise PromptuaryError(
            "the reply is empty, and nothing was recorded; promptuary abandon ends a turn without one"
        )
    with opened(options) as promptuary:
        turn = waiting(promptuary, named(options))
        if turn is None:
            return NOTHING
        before = {one.id for one in promptuary.memory.proposals()}
        receipt = promptuary.threads.finish(turn, answer, cost=options.cost)
        proposed = [one for one in promptuary.memory.proposals() if one.id not in before]
        learnt = _learnt(promptuary, turn.id)
        print_new_notes(promptuary, options)
    if options.json:
        print_json(reply_json(turn.number, receipt, proposed, learnt))
        return DONE
    print(f"turn {turn.number} of thread {one_line(turn.thread)} is answered")
    for failure in receipt.failures:
        print(f"promptuary: {one_line(f'{failure.layer} {failure.hook}: {failure.reason}')}", file=sys.stderr)
    if not options.quiet:
        _say_what_came(proposed, learnt)
    return DONE


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        raise PromptuaryError(f"{_NOT_JSON}: {one_line(str(error))[:200]}") from error
    except RecursionError as error:
        raise PromptuaryError(f"{_NOT_JSON}, and this is nested too deeply") from error


def _learnt(promptuary: Promptuary, turn: str) -> Sequence[Experience]:
    if not promptuary.settings.experiences:
        return ()
    return [one for one in promptuary.experiences.list(limit=_MOST_EXPERIENCES).experiences if one.turn == turn]


def _say_what_came(proposed: Sequence[Proposal], learnt: Sequence[Experience]) -> None:
    for one in proposed:
        said = one_line(one.draft.title or one.draft.content or "")[:100]
        print(f"proposed: {said} (promptuary memory accept {one.id})", file=sys.stderr)
    for each in learnt:
        print(f"learnt: {one_line(each.intent)[:100]} (promptuary experience show {each.id})", file=sys.stderr)
