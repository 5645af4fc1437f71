"""``promptuary memory forget``: removes notes permanently, and prints where else their text is stored."""

import argparse
from collections.abc import Iterator, Sequence

from promptuary.base.errors import PromptuaryError
from promptuary.base.text import counted
from promptuary.blocking import Promptuary
from promptuary.cli.common import can_ask, confirm, print_json
from promptuary.cli.memory.printing import DONE, NOTHING, say, say_what_stays
from promptuary.cli.memory.words import do_each, names
from promptuary.memory.values import ForgetReport, Place

_MAX_SHOWN = 20


def forget(promptuary: Promptuary, options: argparse.Namespace) -> int:
    """Forget notes, or print what would be removed."""
    given = names(options)
    if not (options.dry_run or options.yes or can_ask()):
        for name in given:
            promptuary.memory.history(name)  # an unknown note is the first thing to report
        raise PromptuaryError("memory forget cannot be undone; add --yes to confirm, or --dry-run to preview it")

    def forgotten(name: str) -> ForgetReport:
        if options.dry_run or not options.yes:
            report = promptuary.memory.forget(name, everywhere=options.everywhere, dry_run=True)
            if options.dry_run or not _is_wanted(report, options):
                return report
            name = report.note
        return promptuary.memory.forget(name, everywhere=options.everywhere)

    reports, all_done = do_each(given, forgotten)
    if options.json:
        print_json({"notes": reports})
    for report in () if options.json else reports:
        _print(report, options)
    if any(report.done for report in reports):
        say_what_stays(promptuary.settings, quiet=options.quiet)
    kept = any(not report.done for report in reports) and not options.dry_run
    return DONE if all_done and not kept else NOTHING


def _is_wanted(report: ForgetReport, options: argparse.Namespace) -> bool:
    """Print what would be removed, and ask the person."""
    for line in _remarks(report, options):
        say(line)
    return confirm(f"Forget {report.note} permanently?", options)


def _print(report: ForgetReport, options: argparse.Namespace) -> None:
    print(f"{report.note}  {report.path}".rstrip())
    if not report.done and not options.dry_run:
        say(f"{report.note} was not removed", quiet=options.quiet)
        return
    stored = f"{counted(report.prompts, 'place')} in stored prompts and states"
    copies = f", and removed from {stored}" if report.prompts else ""
    say(f"{report.note} {'is' if report.done else 'would be'} forgotten{copies}", quiet=options.quiet)
    if options.yes or options.dry_run:  # otherwise they were printed with the question
        for line in _remarks(report, options):
            say(line, quiet=options.quiet)


def _remarks(report: ForgetReport, options: argparse.Namespace) -> Iterator[str]:
    places = list(_places(report.places))
    yield from (f"the same text is in {place}" for place in places[:_MAX_SHOWN])
    if len(places) > _MAX_SHOWN:
        yield f"and in {len(places) - _MAX_SHOWN:,} more places; --json lists them"
    if places and not options.everywhere:
        yield "these copies stay" + ("" if report.done else "; --everywhere removes them too")
    if report.in_git:
        yield "git tracks the file, so commits still contain it"


def _places(places: Sequence[Place]) -> Iterator[str]:
    for one in places:
        yield f"{one.kind} {one.name}" + (f", turn {one.turn}" if one.turn else "")
