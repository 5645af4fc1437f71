"""Commands about stored data: ``backup``, ``restore``, ``migrate``, ``purge`` and ``doctor``."""

import argparse
import shlex
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from promptuary.base.errors import PromptuaryError, SourceInUseError, TargetInUseError
from promptuary.base.table import Column
from promptuary.base.text import counted, one_line
from promptuary.blocking import Promptuary
from promptuary.cli.common import confirm, open_workspace, print_json
from promptuary.cli.interruptible import StoppedError, run_interruptibly
from promptuary.cli.memory.printing import say_what_stays
from promptuary.cli.progress import ProgressLine
from promptuary.cli.terminal import headed_table
from promptuary.cli.threads.delete import age
from promptuary.maintenance.database_migration import Migration
from promptuary.present.maintenance import examination_json, kept_json, migration_json
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


def migrate(options: argparse.Namespace) -> int:
    """Print what would be copied, ask, and copy it to the other database."""
    source, target = getattr(options, "from"), options.to
    if options.notes is not None and not (source or target or options.force):
        return _migrate_notes(options)
    if source is None or target is None or options.notes is not None:
        raise PromptuaryError("migrate takes --from and --to, for a database, or --notes alone, for notes")
    with open_workspace(options) as promptuary:
        found = promptuary.migrate(source, target, force=options.force, dry_run=True)
        asked = f"Copy {counted(found.rows, 'row')} from {found.source} to {found.target}?"
        is_refused = found.state == "replaced" and not options.force
        wanted = not options.dry_run and not found.done and not is_refused and confirm(asked, options)
        if wanted:
            try:
                found = _migrate(promptuary, source, target, options)
            except (SourceInUseError, TargetInUseError) as error:
                print(f"promptuary: {error}", file=sys.stderr)
                return NOT_ALL
    if options.json:
        print_json(migration_json(found))
    else:
        print(_migrated(found))
    if is_refused:
        has = f"{one_line(found.target)} has other data of this workspace"
        print(f"promptuary: nothing was migrated: {has}; add --force to replace it", file=sys.stderr)
    elif not found.done and not options.dry_run:
        print("promptuary: nothing was migrated; add --yes to confirm", file=sys.stderr)
    elif found.done and not options.quiet:
        print(f"to use it: {shlex.join(['promptuary', 'config', 'set', 'database', found.database])}", file=sys.stderr)
    return DONE if found.done or options.dry_run else NOT_ALL


def _migrate(promptuary: Promptuary, source: str, target: str, options: argparse.Namespace) -> Migration:
    with ProgressLine(sys.stderr, "rows copied and compared", shown=not options.quiet) as line:

        def until(stop: threading.Event) -> Migration:
            def show(done: int, total: int) -> None:
                if stop.is_set():
                    raise StoppedError
                line(done, total)

            return promptuary.migrate(source, target, force=options.force, progress=show)

        try:
            return run_interruptibly(until)
        except KeyboardInterrupt:
            line.close()
            if not options.quiet:
                print("stopped: the same command continues from here; nothing else has changed", file=sys.stderr)
            raise


def _migrate_notes(options: argparse.Namespace) -> int:
    """Print how many notes would be moved, ask, and move them into the database or into files."""
    place = {"database": "the database", "files": "files"}[options.notes]
    with open_workspace(options) as promptuary:
        found = promptuary.migrate_notes(options.notes, dry_run=True)
        asked = f"Move {counted(found.notes, 'note')} into {place}?"
        if not options.dry_run and confirm(asked, options):
            found = promptuary.migrate_notes(options.notes)
    if options.json:
        print_json(found)
    else:
        print(
            f"{'moved' if found.done else 'would move'} {counted(found.notes, 'note')} into {place}, with their history"
        )
    if found.left:
        say = f'{counted(found.left, "file")} stayed in the folders: adopt or correct them with notes = "files" first'
        print(f"promptuary: {say}", file=sys.stderr)
    if not found.done and not options.dry_run:
        print("promptuary: nothing was moved; add --yes to confirm", file=sys.stderr)
    elif found.done and not options.quiet:
        print(f"to use them: promptuary config set notes {options.notes}", file=sys.stderr)
    return DONE if found.done or options.dry_run else NOT_ALL


def _migrated(found: Migration) -> str:
    where = f"{counted(found.rows, 'row')} from {one_line(found.source)} to {one_line(found.target)}"
    if found.state == "same":
        return f"nothing to do: {one_line(found.target)} has the same {counted(found.rows, 'row')}"
    if not found.done:
        more = {"continued": ", where an earlier migration stopped", "replaced": ", in place of what is there"}
        return f"would copy {where}{more.get(found.state, '')}"
    return f"copied {where}; counts and hashes of {counted(len(found.tables), 'table')} agree"


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
            say_what_stays(promptuary.settings)
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
