"""``promptuary expand``: prints a message with its references expanded, and the tokens of each reference.

With ``--thread`` it prepares a turn, and prints its whole prompt.
"""

import argparse
import sys

from promptuary.base.text import of_whole, one_line, visible
from promptuary.cli.common import copy_text, message, open_workspace, print_json, print_new_notes, print_rendered
from promptuary.references.expansion import Expansion

DONE, NOT_ALL = 0, 1


def main(options: argparse.Namespace) -> int:
    text = message(options)
    return _expand(text, options) if options.thread is None else _prepare(text, options)


def _expand(text: str, options: argparse.Namespace) -> int:
    with open_workspace(options) as promptuary:
        expansion = promptuary.expand(text)
        rendered = promptuary.render(expansion, options.form) if options.form not in {None, "text"} else None
        sent = rendered if rendered is not None else expansion.messages[-1]["content"]
        done = options.copy and copy_text(promptuary, sent, options)
    failed = (options.copy and not done) or expansion.incomplete
    if options.json:
        from promptuary.present.expansions import expansion_json  # noqa: PLC0415  (text needs no JSON shapes)

        print_json(expansion_json(expansion))
    elif done:
        pass
    elif rendered is not None:
        print_rendered(rendered)
    else:
        _print_message(expansion)
    sys.stdout.flush()
    _account(expansion, options)
    return NOT_ALL if failed else DONE


def _prepare(text: str, options: argparse.Namespace) -> int:
    """Prepare a turn of a thread and print its prompt; the receipt goes to stderr."""
    with open_workspace(options) as promptuary:
        earlier = promptuary.threads.pending(thread=options.thread)
        if earlier is not None:  # before the next one is prepared, because layers react to it
            promptuary.threads.abandon(earlier)
        turn = promptuary.threads.prepare(text, thread=options.thread)
        print_new_notes(promptuary, options)
        done = options.copy and copy_text(promptuary, turn.render(options.form or "text"), options)
    if earlier is not None and not options.quiet:
        print(f"note: turn {earlier.number} got no reply and was abandoned", file=sys.stderr)
    failed = (options.copy and not done) or turn.receipt.blocked or turn.expansion.incomplete
    if options.json:
        from promptuary.present.expansions import turn_json  # noqa: PLC0415  (imports every value that has a shape)

        print_json(turn_json(turn.expansion, turn.messages, turn.receipt))
    elif done:
        pass
    elif options.form in {None, "text"}:
        prompt = turn.render("text")
        print(visible(prompt)[0] if sys.stdout.isatty() else prompt, end="")
    else:
        print_rendered(turn.render(options.form))
    if not options.quiet:
        print(turn.receipt.explain(), file=sys.stderr)
    return NOT_ALL if failed else DONE


def _print_message(expansion: Expansion) -> None:
    content = expansion.messages[-1]["content"]
    # A terminal gets no control characters, not even those that the person typed; a pipe gets the exact text.
    print(visible(content)[0] if sys.stdout.isatty() else content)


def _account(expansion: Expansion, options: argparse.Namespace) -> None:
    """Print a table of the references, the warnings and the total, unless ``--quiet`` is given."""
    if options.quiet:
        return
    window = expansion.spend.window
    rows = [
        (
            one_line(one.reference.raw),
            of_whole(one.tokens, one.whole_tokens) if not one.code else "-",
            one.detail or one.status,
            f"{one.tokens / window:.1%}" if not one.code else "-",
            one_line(f"{one.code}: {one.reason}" if one.code else one.reason or ""),
        )
        for one in expansion.outcomes
    ]
    if rows:
        from promptuary.base.table import Column, table  # noqa: PLC0415  (likewise)
        from promptuary.cli.terminal import bold_header  # noqa: PLC0415  (most short messages have no references)

        columns = (
            Column("reference"),
            Column("tokens", right=True),
            Column("detail"),
            Column("window", right=True),
            Column(""),
        )
        print(bold_header(table(columns, rows), sys.stderr), file=sys.stderr)
    images = expansion.messages[-1].get("images", ()) if options.form in {None, "text"} else ()
    for image in images:
        why = "is included, because the format is text; use --for openai, openai-responses or anthropic to send it"
        print(f"note: only the name of the image {one_line(image['name'])} {why}", file=sys.stderr)
    if expansion.general_warnings or expansion.slips or expansion.blocked:
        _print_warnings(expansion)
    print(f"[@ context: {expansion.spend.injected:,} tokens injected]", file=sys.stderr)


def _print_warnings(expansion: Expansion) -> None:
    from promptuary.cli.terminal import in_style  # noqa: PLC0415  (most messages have none)

    for warning in (*expansion.general_warnings, *expansion.slips):  # the table shows those of single references
        print(f"{in_style('warning:', 'yellow', sys.stderr)} {one_line(str(warning))}", file=sys.stderr)
    if expansion.blocked:
        why = "not even the names of all references fit; remove references, or raise --share or --budget"
        print(f"{in_style('blocked:', 'red', sys.stderr)} {why}", file=sys.stderr)
