"""``promptuary index``: adds folders to the index, lists them, and removes them."""

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from stat import S_ISDIR, S_ISREG
from typing import Final

from promptuary.base.errors import ConfigError, PromptuaryError
from promptuary.base.table import Column
from promptuary.base.text import counted, one_line
from promptuary.blocking import Promptuary
from promptuary.cli.common import confirm, open_workspace, print_json, standard_input
from promptuary.cli.search.indexing import IndexJob, embed, foreign_text, is_wide, print_embedded, print_synced, sync
from promptuary.cli.terminal import headed_table
from promptuary.present.search import status_json, sync_json
from promptuary.search.values import FolderStatus

DONE, NOT_ALL, NOTHING = 0, 1, 2
_MAX_NAMED: Final = 5
_ONLY: Final = {"--list": "only shows what is indexed", "--remove": "only removes folders"}


def main(options: argparse.Namespace) -> int:
    """Index folders, list what is indexed, or remove folders."""
    _refuse_idle_flags(options)
    named = _named(options.words)
    if options.list and named:
        raise PromptuaryError("index --list takes no folders; it lists all of them")
    if options.remove and not named:
        raise PromptuaryError("index --remove needs the folders to remove: promptuary index --list shows them")
    with open_workspace(options) as promptuary:
        named = [_from_here(one, promptuary.path) for one in named]
        if options.list:
            return _list(promptuary, as_json=options.json)
        if options.remove:
            return _remove(promptuary, named, options)
        return _index(promptuary, named, options)


def _refuse_idle_flags(options: argparse.Namespace) -> None:
    """Reject flags that would have no effect."""
    action = "--list" if options.list else "--remove" if options.remove else None
    given = {"--prune": options.prune, "--label": options.label is not None, "--no-embed": options.no_embed}
    idle = [flag for flag, is_given in given.items() if is_given]
    if action and idle:
        raise PromptuaryError(f"index {action} {_ONLY[action]}; leave out {', '.join(idle)}")


def _named(words: Sequence[str]) -> Sequence[str]:
    """Return the folders to index; ``-`` reads them from standard input, one per line."""
    if list(words) != ["-"]:
        return words
    named = [line for line in os.fsdecode(standard_input()).split("\n") if line.strip()]
    if not named:
        raise PromptuaryError("standard input names no folder")
    return named


def _from_here(named: str, workspace: Path) -> str:
    """Return the folder ``named``, relative to the current folder or, if there is none, to the workspace."""
    here = not named or os.path.lexists(named)
    return named if here or not os.path.isdir(workspace / named) else str(workspace / named)  # noqa: PTH112


def _index(promptuary: Promptuary, named: Sequence[str], options: argparse.Namespace) -> int:
    missing = {one: why for one in named if (why := _why_no_folder(one))}
    for why in missing.values():
        print(f"promptuary: {one_line(why)}", file=sys.stderr)
    there = [os.path.realpath(one) for one in named if one not in missing]
    if named and not there:
        return NOTHING
    known = promptuary.search.status().folders
    if options.label is not None and not named and known:
        raise ConfigError("--label needs the folders to label: promptuary index --label NAME FOLDER")
    if options.label is not None:
        _refuse_parts_of_others(there, known, options.label)
    if not there and not known:
        there = [str(promptuary.path)]
        _refuse_wide(there[0])
    new_to_it = [one for one in there if not any(Path(one).is_relative_to(folder.path) for folder in known)]
    if not all(_wanted(one, options) for one in new_to_it if is_wide(one)):
        return NOT_ALL
    # A folder that is indexed already keeps its label, unless another is given.
    new = [one for one in there if options.label is not None or one not in {folder.path for folder in known}]
    job = IndexJob(promptuary, quiet=options.quiet)
    job.note(f"indexing {_few(there or [folder.path for folder in known])}")
    outcome = sync(job, new, label=options.label or "", rebuild=options.rebuild, prune=options.prune)
    if not options.quiet:
        _print_places(there, known, outcome.status.folders)
    if not options.json:
        print_synced(outcome)
    code = DONE
    try:
        if not options.no_embed:
            code = embed(job, outcome)
            if (outcome.embedded or outcome.report.has_changes) and (foreign := foreign_text(outcome.status)):
                job.note(foreign)
    finally:
        # Also after Ctrl-C, because the work so far is stored.
        if options.json:
            print_json(sync_json(outcome.report, outcome.status, seconds=outcome.seconds))
        else:
            print_embedded(outcome)
    return NOT_ALL if missing else code


def _few(folders: Sequence[str]) -> str:
    more = len(folders) - _MAX_NAMED
    return ", ".join([*folders[:_MAX_NAMED], *([f"{more:,} more"] if more > 0 else [])])


def _refuse_wide(folder: str) -> None:
    """Reject a home folder that was not named explicitly."""
    if is_wide(folder):
        raise PromptuaryError(
            f"this would index all of {folder}; change to a project folder, or name the folders to index: promptuary "
            "index FOLDER"
        )


def _wanted(folder: str, options: argparse.Namespace) -> bool:
    """Return whether the person confirms to index ``folder``, which contains their home folder."""
    if confirm(f"Index all of {folder}, including your home folder?", options):
        return True
    print(
        f"promptuary: {one_line(folder)} was not indexed, because it contains your home folder; add --yes to confirm",
        file=sys.stderr,
    )
    return False


def _refuse_parts_of_others(there: Sequence[str], known: Sequence[FolderStatus], label: str) -> None:
    """Reject a label for a part of an indexed folder: only whole folders have labels."""
    # Folders that are named too get this label, and so do the folders that they replace.
    stay = [one for one in known if one.label != label and not any(Path(one.path).is_relative_to(it) for it in there)]
    for one in there:
        for around in stay:
            if Path(one).is_relative_to(around.path):
                how = f"with the label {around.label}" if around.label else "without a label"
                raise ConfigError(
                    f"{one} is inside {around.path}, which is indexed {how}; remove that folder with promptuary index "
                    "--remove, then index its subfolders with their labels"
                )


def _why_no_folder(named: str) -> str:
    """Return why ``named`` cannot be indexed; empty if it is a folder."""
    if not named:
        return "an empty name is not a folder"
    try:
        mode = Path(named).stat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        return f"{named} does not exist; name a folder"
    except OSError as error:
        return f"{named} cannot be read ({error.strerror})"
    except ValueError as error:
        return f"{named} cannot be read ({error})"
    if S_ISDIR(mode):
        return ""
    return f"{named} is a file; name the folder that contains it" if S_ISREG(mode) else f"{named} is not a folder"


def _print_places(there: Sequence[str], before: Sequence[FolderStatus], after: Sequence[FolderStatus]) -> None:
    """Print which folders are indexed as a part of another folder."""
    now = {folder.path for folder in after}
    for one in there:
        around = next((path for path in now if one != path and Path(one).is_relative_to(path)), None)
        if around:
            print(f"note: {one_line(one)} is inside {one_line(around)}, which is indexed", file=sys.stderr)
    for folder in before:
        if folder.path not in now:
            labelled = f" (its label was {folder.label})" if folder.label else ""
            note = f"{folder.path} is now indexed as part of a parent folder{labelled}"
            print(f"note: {one_line(note)}", file=sys.stderr)


def _list(promptuary: Promptuary, *, as_json: bool) -> int:
    status = promptuary.search.status()
    if as_json:
        print_json(status_json(status))
    elif status.folders:
        rows = [
            (one_line(folder.path) + " (missing)" * folder.missing, one_line(folder.label), f"{folder.files:,}")
            for folder in status.folders
        ]
        print(headed_table((Column("folder"), Column("label"), Column("files", right=True)), rows, sys.stdout))
        counts = status.counts
        missing = f"{counts.unembedded:,} of them to embed" if counts.unembedded else "all embedded"
        embedded = missing if status.embedder else "searched by words only"
        print(f"{counted(counts.files, 'file')}, {counted(counts.chunks, 'chunk')}, {embedded}")
        if status.embedder:
            print(f"embedder: {one_line(status.embedder)}")
        if foreign := foreign_text(status):
            print(foreign)
    else:
        print("nothing is indexed yet: promptuary index FOLDER indexes a folder", file=sys.stderr)
    return DONE if status.folders else NOT_ALL


def _why_not_removed(promptuary: Promptuary, named: str) -> str:
    path, folders = os.path.realpath(named), promptuary.search.status().folders
    around = next((one.path for one in folders if Path(path).is_relative_to(one.path)), None)
    if around is not None:
        return f"{named} is inside {around}, which is indexed; only whole folders can be removed"
    return f"{named} is not indexed; promptuary index --list shows the indexed folders"


def _remove(promptuary: Promptuary, named: Sequence[str], options: argparse.Namespace) -> int:
    unknown = []
    for one in named:
        known = {folder.path: folder.files for folder in promptuary.search.status().folders}
        path = next((path for path in (os.path.realpath(one), os.path.abspath(one)) if path in known), None)  # noqa: PTH100
        if path is None or not promptuary.search.remove(path):
            unknown.append(one)
        elif not options.json:
            print(f"removed {one_line(path)} from the index ({counted(known[path], 'file')})")
    for one in unknown:
        print(f"promptuary: {one_line(_why_not_removed(promptuary, one))}", file=sys.stderr)
    if len(unknown) == len(named):
        return NOTHING
    if options.json:
        print_json(status_json(promptuary.search.status()))
    return NOT_ALL if unknown else DONE
