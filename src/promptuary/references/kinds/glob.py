"""``@glob:src/**/*.py``: every file that matches; ``,!pattern`` excludes some of them."""

from collections.abc import Sequence

from msgspec.structs import replace

from promptuary.base.blocks import Source
from promptuary.base.errors import Code, SourceError
from promptuary.base.references import Reference
from promptuary.base.text import counted
from promptuary.references.kinds.file import whole_file
from promptuary.references.locate import located_pattern, split_patterns
from promptuary.references.resolve_context import ResolveContext
from promptuary.workspace.listing.glob import match_glob
from promptuary.workspace.workspace import LISTING_SECONDS

MAX_FILES = 500
"""The most files that one pattern attaches; a notice says how many more match."""


def resolve(reference: Reference, context: ResolveContext) -> list[Source]:
    """Return the files that match, sorted. Patterns start at the current folder, else at the root of the workspace."""
    files = context.workspace.files(wait=LISTING_SECONDS)
    if not context.workspace.listing.complete:
        context.notes.append(f"{reference.raw}: there are more files than could be listed in time")
    found = located_pattern(reference, context.workspace)
    if found.remark:
        context.notes.append(f"{reference.raw}: {found.remark}")
    patterns, excludes = split_patterns(found.value)
    return read_many(match_glob(files, patterns, excludes), context, reference.value)


def read_many(paths: Sequence[str], context: ResolveContext, label: str) -> list[Source]:
    """Return the readable files among ``paths``. The first source notes what was left out.

    Raises ``SourceError`` if none is readable.
    """
    sources: list[Source] = []
    left_out: dict[Code, int] = {}
    for path in paths[:MAX_FILES]:
        try:
            sources.append(whole_file(context.workspace.read(path), context.notes.append))
        except SourceError as error:
            left_out[error.code] = left_out.get(error.code, 0) + 1
    notices = [f"{count} not readable ({code})" for code, count in sorted(left_out.items())]
    if len(paths) > MAX_FILES:
        notices.append(f"only the first {MAX_FILES} are read: use a narrower pattern")
    if not sources:
        raise SourceError(Code.NO_MATCH, _nothing(label, paths, notices))
    if notices:
        notice = f"{label} matches {_files(paths)}; {'; '.join(notices)}"
        sources[0] = replace(sources[0], notes=(*sources[0].notes, notice), partial=len(paths) > MAX_FILES)
    return sources


def _nothing(label: str, paths: Sequence[str], notices: Sequence[str]) -> str:
    if paths:
        return f"{label} matches {_files(paths)}, but {'; '.join(notices)}"
    if label.endswith("/"):
        return f"{label} has no files, or all of them are ignored"
    return f"nothing matches {label}; patterns start at the root of the workspace, and ** matches any depth"


def _files(paths: Sequence[str]) -> str:
    return counted(len(paths), "file")
