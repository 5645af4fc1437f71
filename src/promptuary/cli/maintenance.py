"""Commands about stored data: ``backup``, ``restore``, ``purge`` and ``doctor``."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from promptuary.base.errors import PromptuaryError
from promptuary.base.table import Column
from promptuary.base.text import counted, one_line
from promptuary.cli.common import confirm, open_workspace, print_json
from promptuary.cli.terminal import headed_table
from promptuary.cli.threads.delete import age
from promptuary.present.maintenance import examination_json, kept_json
from promptuary.present.threads import pruned_json
from promptuary.threads.ledger_values import Pruned, ThreadSize
from promptuary.workspace.data_folder.kept_files import KeptReport

DONE, NOT_ALL = 0, 1
_MAX_THREADS: Final = 10


def backup(options: argparse.Namespace) -> int:
    """Write the backup, and print its size."""
    with open_workspace(options) as promptuary:
        report = promptuary.backup(options.file, everywhere=options.everywhere, force=options.force)
    if options.json:
        print_json(kept_json(report))
    elif not options.quiet:
        _print_notes(report)
        count = counted(len(report.files), "file")
        print(f"backed up {count} ({_size(report.bytes)}) to {one_line(str(Path(options.file)))}", file=sys.stderr)
    return DONE


def restore(options: argparse.Namespace) -> int:
    """Restore a backup, or print what a restore would do."""
    with open_workspace(options) as promptuary:
        report = promptuary.restore(
            options.file,
            everywhere=options.everywhere,
            force=options.force,
            config=options.config,
            dry_run=options.dry_run,
        )
    if options.json:
        print_json(kept_json(report))
    else:
        print(_file_table(report))
        _print_notes(report)
    in_the_way = sum(file.action == "replaced" for file in report.files)
    if report.done or options.dry_run:
        return DONE
    print(
        f"promptuary: nothing was restored: {in_the_way:,} of these files exist and differ; add --force to overwrite "
        "them",
        file=sys.stderr,
    )
    return NOT_ALL


def purge(options: argparse.Namespace) -> int:
    """List what would be removed, ask, and remove it."""
    if options.recorded:
        return _purge_recorded(options)
    if options.older_than is not None:
        raise PromptuaryError("--older-than needs --recorded; thread prune removes old turns of your own threads")
    if options.models and not options.everywhere:
        raise PromptuaryError("--models needs --everywhere, because all workspaces share the models")
    with open_workspace(options) as promptuary:
        report = promptuary.purge(everywhere=options.everywhere, models=options.models, dry_run=True)
        if not report.files:
            print("nothing is stored", file=sys.stderr)
            if options.json:
                print_json(kept_json(report))
            return DONE
        if not options.json:
            print(_file_table(report))
        wanted = not options.dry_run and confirm(f"Remove all of it ({_size(report.bytes)}) permanently?", options)
        if wanted:
            report = promptuary.purge(everywhere=options.everywhere, models=options.models)
    if options.json:
        print_json(kept_json(report))
    if report.done or options.dry_run:
        return DONE
    print("promptuary: nothing was removed; add --yes to confirm (promptuary backup FILE saves it)", file=sys.stderr)
    return NOT_ALL


def doctor(options: argparse.Namespace) -> int:
    """Check the workspace and the notes, and print the problems; or trust a database that came from elsewhere."""
    if options.adopt:
        return _adopt(options)
    with open_workspace(options) as promptuary:
        found = promptuary.examine(fix=options.fix)
    if options.json:
        print_json(examination_json(found))
        return DONE if found.is_well else NOT_ALL
    rows = [
        (
            finding.code,
            "repaired" if finding.fixed else "repairable" if finding.fixable else "",
            finding.where,
            f"{finding.problem}. {finding.advice}" if finding.advice else finding.problem,
        )
        for finding in found.findings
    ]
    if rows:
        columns = (Column("what"), Column("state"), Column("where"), Column("problem"))
        print(headed_table(columns, [tuple(map(one_line, row)) for row in rows], sys.stdout))
    if found.threads and not options.quiet:
        print(_sizes(found.threads), file=sys.stderr)
    looked = (
        ", ".join(f"{count:,} {name.removesuffix('s') if count == 1 else name}" for name, count in found.counts)
        or "nothing is stored yet"
    )
    left = sum(not finding.fixed for finding in found.findings)
    remaining = f"{counted(left, 'problem')} left" if found.findings else "no problems"
    print(f"{looked}; {remaining}", file=sys.stderr)
    if any(finding.fixable and not finding.fixed for finding in found.findings) and not options.fix:
        print("promptuary doctor --fix makes the repairs, without losing data", file=sys.stderr)
    return DONE if found.is_well else NOT_ALL


def _adopt(options: argparse.Namespace) -> int:
    with open_workspace(options) as promptuary:
        promptuary.adopt()
        threads = promptuary.threads.list()
    if options.json:
        print_json({"threads": threads})
    else:
        print(f"adopted the database of this folder: {counted(len(threads), 'thread')}", file=sys.stderr)
    return DONE


def _sizes(threads: Sequence[ThreadSize]) -> str:
    """Return the largest threads as a table."""
    columns = (
        Column("thread"),
        Column("turns", right=True),
        Column("messages", right=True),
        Column("kB", right=True),
    )
    rows = [
        (one_line(thread.thread), f"{thread.turns:,}", f"{thread.messages:,}", f"{thread.bytes / 1000:,.1f}")
        for thread in threads
    ]
    more = [f"… and {len(rows) - _MAX_THREADS:,} more"] if len(rows) > _MAX_THREADS else []
    return "\n".join([headed_table(columns, rows[:_MAX_THREADS], sys.stderr), *more])


def _file_table(report: KeptReport) -> str:
    """Return the files of a report as a table."""
    with_action = any(file.action for file in report.files)
    rows = [
        (*([file.action] if with_action else []), file.what, _size(file.bytes), one_line(file.path))
        for file in report.files
    ]
    columns = (*([Column("action")] if with_action else []), Column("what"), Column("size", right=True), Column("path"))
    return headed_table(columns, rows, sys.stdout)


def _purge_recorded(options: argparse.Namespace) -> int:
    """Remove old conversations that clients of the server keep."""
    days = None if options.older_than is None else age(options.older_than)
    with open_workspace(options) as promptuary:
        if days is None and not promptuary.settings.recorded_days:
            raise PromptuaryError(
                "conversations of clients are kept for ever here: say --older-than 90d, or set recorded_days"
            )
        done = promptuary.purge_recorded(days, dry_run=True)
        asked = f"Remove {counted(done.turns, 'recorded turn')} permanently?"
        wanted = done != Pruned() and not options.dry_run and confirm(asked, options)
        if wanted:
            done = promptuary.purge_recorded(days)
    if options.json:
        print_json(pruned_json(done, dry_run=not wanted))
    elif done == Pruned():
        print("no recorded conversation is that old")
    else:
        what = f"{counted(done.turns, 'turn')}, {counted(done.threads, 'complete thread')} ({_size(done.bytes)})"
        print(f"{'removed' if wanted else 'would remove'} {what}")
    return DONE if wanted or options.dry_run or done == Pruned() else NOT_ALL


def _print_notes(report: KeptReport) -> None:
    """Print what was not included."""
    for note in report.notes:
        print(f"note: {note}", file=sys.stderr)


def _size(size: int) -> str:
    value = float(size)
    for unit in ("bytes", "kB", "MB"):
        if value < 1000:
            return f"{value:,.0f} {unit}" if unit == "bytes" else f"{value:,.1f} {unit}"
        value /= 1000
    return f"{value:,.1f} GB"
