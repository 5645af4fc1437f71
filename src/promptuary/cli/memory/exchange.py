"""``promptuary memory import`` and ``export``: exchange notes with other tools."""

import argparse

from promptuary.base.errors import PromptuaryError
from promptuary.base.text import counted
from promptuary.blocking import Promptuary
from promptuary.cli.common import print_json
from promptuary.cli.memory.printing import DONE, NOTHING, header_table, say
from promptuary.present.notes import import_json, note_header_json

_NAMES = {
    "promptuary": "Promptuary",
    "xpert": "Xpert",
    "claude-code": "Claude Code",
    "codex": "Codex",
    "basic-memory": "basic-memory",
    "markdown": "plain Markdown",
}
_MAX_SHOWN = 20


def import_notes(promptuary: Promptuary, options: argparse.Namespace) -> int:
    """Import the notes of another tool, and print the new ones."""
    report = promptuary.memory.import_notes(
        _place(options), form=options.form, owner=options.owner, dry_run=options.dry_run
    )
    skipped = report.skipped or {}
    if options.json:
        print_json(import_json(report, dry_run=options.dry_run))
    elif report.imported:
        print(header_table(report.imported))
    for path, reason in list(skipped.items())[:_MAX_SHOWN]:
        say(f"skipped {path}: {reason}", quiet=options.quiet)
    if len(skipped) > _MAX_SHOWN:
        say(f"skipped {len(skipped) - _MAX_SHOWN:,} more; --json lists them", quiet=options.quiet)
    deed = "would import" if options.dry_run else "imported"
    say(
        f"{_NAMES[report.form]}: {deed} {counted(len(report.imported), 'note')}, {report.known:,} already known, "
        f"{len(skipped):,} skipped",
        quiet=options.quiet,
    )
    return DONE if report.imported or report.known else NOTHING


def export(promptuary: Promptuary, options: argparse.Namespace) -> int:
    """Write every note to a folder."""
    place = _place(options)
    if place == "-":
        raise PromptuaryError("memory export writes a folder, not standard output; name a folder")
    headers = promptuary.memory.export(place)
    if options.json:
        print_json({"notes": [note_header_json(header) for header in headers]})
    private = sum(header.audience == "private" for header in headers)
    warning = f"; {private:,} of them private, so limit who may read the folder" if private else ""
    say(f"exported {counted(len(headers), 'note')} to {place}{warning}", quiet=options.quiet)
    return DONE


def _place(options: argparse.Namespace) -> str:
    if len(options.words) != 1 or not options.words[0].strip():
        kind = "folder or file" if options.action == "import" else "folder"
        raise PromptuaryError(f"memory {options.action} takes one {kind}: promptuary memory {options.action} --help")
    return str(options.words[0])
