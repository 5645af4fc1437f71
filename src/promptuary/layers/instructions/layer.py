"""The layer ``instructions``: ``AGENTS.md`` and similar files, from the root of the workspace to the current folder.

The general files come first and the nearest last. They are read again at every turn, through the workspace and under
its policy, so a change takes effect at once. Files that they import with ``@path`` follow them.
"""

from collections.abc import Iterable, Sequence

from msgspec import Struct, field
from msgspec.structs import replace

from promptuary.base import concurrency
from promptuary.base.blocks import Omitted, Source
from promptuary.base.budget import water_fill
from promptuary.base.errors import Code, ConfigError, SourceError
from promptuary.base.text import one_line
from promptuary.layers import sections
from promptuary.layers.instructions.imports import parse, resolve
from promptuary.layers.layer import Budget, Layer, LayerContext, Recall, RecallRequest, Scope, Slot, check
from promptuary.layers.sections import Section
from promptuary.workspace.access import Access
from promptuary.workspace.disk.read import TextFile
from promptuary.workspace.disk.root import normalise
from promptuary.workspace.workspace import Workspace

NAMES: tuple[tuple[str, ...], ...] = (
    ("AGENTS.override.md", "AGENTS.md", "AGENT.md"),
    ("CLAUDE.md",),
    (".claude/CLAUDE.md",),
    ("GEMINI.md",),
    (".rules",),
    (".cursorrules",),
    (".windsurfrules",),
    (".clinerules",),
    (".github/copilot-instructions.md",),
    ("CLAUDE.local.md",),
)
"""The names to look for in each folder, in order; of one group, only the first file that is not blank is used."""

MAX_DEPTH = 5
"""The deepest level of nested imports."""

MAX_IMPORTS = 50
"""The most files that are imported in all."""

_KIB = 1024
_SHOWN_NOTES = 5


class Instructions(Layer):
    """Shows the instruction files from the root of ``workspace`` down to ``folder``.

    Nothing above the workspace is read. ``max_bytes`` limits all files together and ``max_file_bytes`` each of them; if
    they are larger, small files stay whole and large ones are cut, and say so. Of files with the same content, only one
    is shown. A missing file is ignored; one that may not or cannot be read is omitted with its reason. A file that is
    cut or omitted because it does not fit or cannot be read becomes a warning of the turn.
    """

    band = "stable"

    def __init__(
        self,
        workspace: Workspace,
        *,
        folder: str = "",
        names: Sequence[Sequence[str]] = NAMES,
        max_bytes: int = 32 * _KIB,
        max_file_bytes: int = 32 * _KIB,
        id: str = "instructions",  # noqa: A002  (it is the layer's id)
        slot: int = Slot.STATIC,
        scope: Scope = "resource",
        tag: str = "instructions",
        budget: Budget = "auto",
    ) -> None:
        self.id, self.slot, self.scope, self.budget = id, slot, scope, budget
        self._workspace, self._names, self._tag = workspace, names, tag
        self._folders = _levels(folder)
        self._caps = (max_bytes, max_file_bytes)
        check((self,))
        sections.check_tag(tag)
        if min(self._caps) < 1:
            raise ConfigError(f"layer {id!r}: max_bytes and max_file_bytes must be whole numbers from 1 on")

    async def recall(self, request: RecallRequest, context: LayerContext) -> Recall | None:
        """Return the files as they are now; with a budget of zero or less, only the byte limits cut them."""
        gathered = await concurrency.run(lambda: self._gather(context.access))
        shown = _capped(gathered.sections, *self._caps)
        omitted = [replace(one, tokens=context.counter.count(text)) for one, text in gathered.omitted]
        return sections.recall(shown, request.budget, context.counter, omitted, _few(gathered.notes))

    def _gather(self, access: Access) -> "_Gathering":
        # Every session sees the files themselves, but their imports only if it may see those files.
        gathering = _Gathering(self._workspace, self._workspace.within(access), self._tag)
        gathering.run(self._folders, self._names)
        return gathering


def _levels(folder: str) -> list[str]:
    """Return the folders from the root of the workspace down to ``folder``."""
    try:
        names = normalise(folder).split("/") if folder else []
    except SourceError as error:
        raise ConfigError(f"folder: {error.reason}") from error
    return ["/".join(names[:depth]) for depth in range(len([name for name in names if name]) + 1)]


class _Gathering(Struct):
    """One reading of all files."""

    workspace: Workspace
    visible: Workspace
    tag: str
    sections: list[Section] = field(default_factory=list)
    omitted: list[tuple[Omitted, str]] = field(default_factory=list)
    """What is left out, with its text if that was read."""
    notes: list[str] = field(default_factory=list)
    _links: list[tuple[str, str]] = field(default_factory=list)
    _paths: set[str] = field(default_factory=set)
    _shown: dict[str, str] = field(default_factory=dict)
    _imported: int = 0

    def run(self, folders: Iterable[str], names: Sequence[Sequence[str]]) -> None:
        # All instruction files first: an import must not move one of them.
        standing = [
            (level, file)
            for level, folder in enumerate(folders)
            for group in names
            if (file := self._first([f"{folder}/{name}" if folder else name for name in group]))
        ]
        self._paths.update(file.path for _, file in standing)
        # A link beside a file that is shown is nearly always an alias of it.
        beside = {_folder(file.path) for _, file in standing}
        self.notes += [sections.not_sent(path, reason) for path, reason in self._links if _folder(path) not in beside]
        for level, file in standing:
            self._include(file, level, 0)

    def _first(self, paths: Sequence[str]) -> TextFile | None:
        """Return the first of ``paths`` that is not blank; omit the others that exist."""
        taken = None
        for path in paths:
            if taken:
                if self.workspace.kind_of(path) == "file":
                    self._omit(path, f"{taken.path} takes its place")
            elif (file := self._read(path)) and file.text.strip():
                taken = file
        return taken

    def _read(self, path: str) -> TextFile | None:
        kind = self.workspace.kind_of(path)
        if kind == "folder":
            self._omit(path, "it is a folder; folders of rules are not read")
        if kind in {None, "folder"}:
            return None
        try:
            return self.workspace.read(path)
        except SourceError as error:
            if error.code not in {Code.NOT_FOUND, Code.NOT_AVAILABLE}:
                self._omit(path, error.reason)
                if error.code is Code.SYMLINK:
                    self._links.append((path, error.reason))
                else:
                    self.notes.append(sections.not_sent(path, error.reason))
            return None

    def _include(self, file: TextFile, rank: int, depth: int, importer: str = "") -> None:
        """Show ``file``, then what it imports."""
        parsed = parse(file.text)
        imports, notes = self._imports(file.path, parsed.imports, depth + 1)
        if twin := self._shown.get(file.sha256):
            self._omit(file.path, f"the same content as {twin}, which is shown", parsed.text)
        else:
            self._shown[file.sha256] = file.path
            body = "\n\n".join(filter(None, [sections.readable(parsed.text).strip("\n"), _noted(notes)]))
            self.sections.append(self._section(file, body, rank, importer))
        for one in imports:
            self._include(one, -depth - 1, depth + 1, file.path)

    def _section(self, file: TextFile, body: str, rank: int, importer: str) -> Section:
        source = Source(f"file:{file.path}", file.path, "file", body, file.sha256, path=file.path)
        return Section(
            self.tag,
            source,
            name=file.path,
            reason=f"imported by {importer}" if importer else "instruction file",
            rest=file.path,
            rank=rank,
        )

    def _imports(self, importer: str, values: Sequence[str], depth: int) -> tuple[list[TextFile], list[str]]:
        """Return the files that ``importer`` imports, and a remark for each that is refused."""
        files, notes = [], []
        for value in values:
            try:
                file = self._imported_file(resolve(importer, value), depth)
            except SourceError as error:
                self._omit(value, f"imported by {importer}: {error.reason}")
                self.notes.append(sections.not_sent(value, f"imported by {importer}: {error.reason}"))
                notes.append(f"@{value}: {error.reason}")
                continue
            if file:
                files.append(file)
        return files, notes

    def _imported_file(self, path: str, depth: int) -> TextFile | None:
        """Return an imported file, ``None`` if it is missing or shown already; raise if it may not be imported."""
        kind = self.visible.kind_of(path)
        if kind is None and "." in path.rpartition("/")[2] and not self.visible.access.refusal("read", path):
            self._omit(path, "it is imported, but there is no such file")
        is_word = kind == "outside" and "." not in path.rpartition("/")[2]
        if kind in {None, "folder"} or is_word or path in self._paths:
            return None
        if depth > MAX_DEPTH:
            raise SourceError(Code.BUDGET_EXCEEDED, f"it is more than {MAX_DEPTH} imports deep.")
        if self._imported == MAX_IMPORTS:
            raise SourceError(Code.BUDGET_EXCEEDED, f"no more than {MAX_IMPORTS} files are imported.")
        file = self.visible.read(path)
        self._imported += 1
        self._paths.add(path)
        return file

    def _omit(self, label: str, reason: str, text: str = "") -> None:
        self.omitted.append((Omitted(one_line(label), one_line(reason), label), text))


def _folder(path: str) -> str:
    return path.rpartition("/")[0]


def _few(notes: Sequence[str]) -> list[str]:
    """Return the first of ``notes``, and how many more there are."""
    more = len(notes) - _SHOWN_NOTES
    return [*notes[:_SHOWN_NOTES], *([f"{more:,} more files of instructions are not sent"] if more > 0 else [])]


def _noted(notes: Sequence[str]) -> str:
    if not notes:
        return ""
    more = [f"and {len(notes) - _SHOWN_NOTES:,} more"] if len(notes) > _SHOWN_NOTES else []
    return "\n".join(["[Not imported:", *map(one_line, [*notes[:_SHOWN_NOTES], *more])]) + "]"


def _capped(sections: Sequence[Section], total: int, each: int) -> list[Section]:
    """Return ``sections`` with at most ``each`` bytes, and ``total`` together."""
    sizes = [len(section.text.encode()) for section in sections]
    shares = water_fill([min(size, each) for size in sizes], total)
    return [
        section if share == size else _cut(section, share)
        for section, size, share in zip(sections, sizes, shares, strict=True)
    ]


def _cut(section: Section, share: int) -> Section:
    most = len(section.text.encode()[:share].decode(errors="ignore"))
    return replace(section, most=most, reason=f"{section.reason}, over the size allowed")
