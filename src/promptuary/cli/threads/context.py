"""``promptuary context``: manages the files and references attached to a thread."""

import argparse
import sys

from promptuary.base.errors import PromptuaryError, SourceError
from promptuary.base.table import Column
from promptuary.base.text import one_line
from promptuary.blocking import Promptuary
from promptuary.cli.common import open_workspace, print_json, print_new_notes
from promptuary.cli.terminal import headed_table
from promptuary.present.threads import attachments_json

DONE, NOT_ALL = 0, 1
_TAKES_WORDS = frozenset({"add", "drop", "pin", "unpin", "find"})


def main(options: argparse.Namespace) -> int:
    """Run one action on the attachments, then print them."""
    if bool(options.words) != (options.action in _TAKES_WORDS):
        needs = "needs words" if options.action == "find" else "needs paths or references"
        wrong = needs if options.action in _TAKES_WORDS else "takes no arguments"
        raise PromptuaryError(f"context {options.action} {wrong}: promptuary context --help")
    thread = "main" if options.thread is None else options.thread
    with open_workspace(options) as promptuary:
        if options.action == "find":
            return _find(promptuary, " ".join(options.words), as_json=options.json)
        if options.action == "clear":
            promptuary.threads.detach_all(thread=thread)
        refused = [error for word in options.words if (error := _changed(promptuary, options.action, word, thread))]
        for error in refused:
            print(f"promptuary: {one_line(str(error))}", file=sys.stderr)
        try:
            _show(promptuary, thread, as_json=options.json)
            print_new_notes(promptuary, options)
        except SourceError as error:
            print(f"promptuary: {one_line(str(error))}", file=sys.stderr)
            return NOT_ALL
    return NOT_ALL if refused else DONE


def _changed(promptuary: Promptuary, action: str, word: str, thread: str) -> SourceError | None:
    """Run the action on one word, and return its error, so that the other words are still processed."""
    try:
        if action == "add":
            promptuary.threads.attach(word, thread=thread)
        elif action == "drop":
            promptuary.threads.detach(word, thread=thread)
        else:
            promptuary.threads.pin(word, thread=thread, on=action == "pin")
    except SourceError as error:
        return error
    return None


def _find(promptuary: Promptuary, words: str, *, as_json: bool) -> int:
    found = promptuary.find_files(words)
    if as_json:
        print_json({"files": list(found)})
    elif found:
        print("\n".join(one_line(path) for path in found))
    else:
        print(f"no file of this workspace matches {one_line(words)}", file=sys.stderr)
    return DONE if found else NOT_ALL


def _show(promptuary: Promptuary, thread: str, *, as_json: bool) -> None:
    view, stats = promptuary.threads.attachments(thread=thread), promptuary.threads.stats(thread=thread)
    waiting = promptuary.measure("", thread=thread)
    if as_json:
        print_json(attachments_json(thread, view, stats, waiting))
        return
    window = waiting.spend.window
    rows = [
        (
            one_line(line.path) + (" (pinned)" if line.pinned else ""),
            line.code or line.state,
            str(line.score),
            f"{line.tokens:,}",
            f"{line.tokens / window:.1%}",
        )
        for line in view.tracked
    ]
    rows += [
        (one_line(word), "with the next message", "", f"{tokens:,}", f"{tokens / window:.1%}")
        for word, tokens in waiting.waiting
    ]
    rows += [(one_line(word), "with the next message, and counted then", "", "", "") for word in waiting.uncounted]
    if not rows:
        print(f"nothing is attached to thread {one_line(thread)}: promptuary context add PATH, or #path in a message")
    else:
        total = sum(line.tokens for line in view.tracked) + sum(tokens for _, tokens in waiting.waiting)
        rows.append(("total", "", "", f"{total:,}", f"{total / window:.1%}"))
        names = ("in view", "state"), ("score", "tokens", "window")
        columns = [*map(Column, names[0]), *(Column(one, right=True) for one in names[1])]
        print(headed_table(columns, rows, sys.stdout))
    summaries = f", {stats.summaries} of them summaries" if stats.summaries else ""
    print(f"history: {stats.messages} messages{summaries}, {stats.tokens:,} tokens, {stats.share:.1%} of the window")
