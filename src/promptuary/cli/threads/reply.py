"""``promptuary reply``: records the answer of a model, which ends the pending turn of a thread."""

import argparse
import json
import sys
from collections.abc import Sequence
from typing import Any, Final

from promptuary.base.errors import PromptuaryError
from promptuary.base.text import one_line
from promptuary.blocking import Promptuary
from promptuary.cli.common import message, open_workspace, print_json, print_new_notes
from promptuary.cli.memory.learning import learning_aside
from promptuary.cli.threads.pending import DONE, NOTHING, pending_turn, thread_of
from promptuary.context.receipt import receipt_json
from promptuary.experiences.values import Experience
from promptuary.memory.writeback.values import Proposal
from promptuary.present.experiences import experience_json
from promptuary.present.notes import proposal_json

_MAX_EXPERIENCES: Final = 50
_NOT_JSON: Final = "--response needs the JSON response of the provider's API"


def main(options: argparse.Namespace) -> int:
    """Record the answer to the pending turn of a thread, and print the proposals and experiences from it."""
    text = message(options, kept=True)
    answer = _parsed(text) if options.response else text
    if not text.strip():
        raise PromptuaryError(
            "the reply is empty; nothing was recorded (promptuary thread abandon ends a turn without a reply)"
        )
    with open_workspace(options) as promptuary, learning_aside(promptuary, options):
        turn = pending_turn(promptuary, thread_of(options))
        if turn is None:
            return NOTHING
        before = {one.id for one in promptuary.memory.proposals()}
        receipt = promptuary.threads.finish(turn, answer, cost=options.cost)
        proposed = [one for one in promptuary.memory.proposals() if one.id not in before]
        learnt = _learnt(promptuary, turn.id)
        print_new_notes(promptuary, options)
    if options.json:
        print_json(
            {
                "thread": receipt.thread,
                "turn": turn.number,
                "status": "finished",
                "receipt": receipt_json(receipt),
                "proposals": [proposal_json(proposal) for proposal in proposed],
                "experiences": [experience_json(experience, experience.last_used_at) for experience in learnt],
            }
        )
        return DONE
    print(f"recorded the reply to turn {turn.number} of thread {one_line(turn.thread)}")
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
        raise PromptuaryError(f"{_NOT_JSON}: nested too deeply") from error


def _learnt(promptuary: Promptuary, turn: str) -> Sequence[Experience]:
    return [one for one in promptuary.experiences.list(limit=_MAX_EXPERIENCES).experiences if one.turn == turn]


def _say_what_came(proposed: Sequence[Proposal], learnt: Sequence[Experience]) -> None:
    for one in proposed:
        said = one_line(one.draft.title or one.draft.content or "")[:100]
        print(f"proposed: {said} (promptuary memory accept {one.id})", file=sys.stderr)
    for each in learnt:
        print(f"experience: {one_line(each.intent)[:100]} (promptuary experience show {each.id})", file=sys.stderr)
