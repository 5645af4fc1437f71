"""The imports (``@path``) of an instruction file, and its text without comments. Pure.

Code spans and fenced code are skipped, since imports and comments in them are examples. The caller checks whether an
imported file exists and may be read. Each construct is consumed once and a failed search is not repeated, so the time
is linear.
"""

import re

from msgspec import Struct

from promptuary.base.errors import Code, SourceError
from promptuary.base.references import ENDS_VALUE
from promptuary.workspace.disk.root import display_path, normalise

# Every alternative begins with a plain character: that is what lets the search skip ordinary text quickly.
_OPENING = re.compile(
    r"`(?<![`\\]`)(?P<ticks>`*+)"
    r"|~~~(?<!~~~~)(?P<waves>~*+)"
    r"|<!--(?P<comment>)"
    r"|@(?<![0-9A-Za-z_\u00aa-\u052f/\\@#.+%&$=\-]@)"
    rf"(?:\"(?P<quoted>[^\"\n]{{1,1024}}+)\"|(?P<bare>[^{ENDS_VALUE}]{{1,1024}}+))"
)
# A fence may be in a quotation or a list; one of backticks has no further backticks on its line.
_BEFORE_FENCE = re.compile(r"[ \t>]*+(?:(?:[-*+]|\d{1,9}[.)])[ \t]++)?")
_AFTER_TICKS = re.compile(r"[^`\n]*+(?:\n|\Z)")
_LONGEST_INDENT = 200
_LONGEST_TICKS = 4
_PARAGRAPH_END = re.compile(r"\n[ \t]*+(?=\n)|\Z")
_REST_OF_LINE = re.compile(r"[ \t]*+\n")
_ABSOLUTE = re.compile(r"[/\\~]|[A-Za-z]:[/\\]")
_BEGINS = re.compile(r"[\w.~/\\]")
_BRACKETS = {")": "(", "]": "[", "}": "{"}


class Parsed(Struct, frozen=True):
    """A text without its comments, and the paths it imports, each once and as written."""

    text: str
    imports: tuple[str, ...]


def parse(text: str) -> Parsed:
    """Return ``text`` without its HTML comments, and the paths it imports."""
    reader = _Reader(text)
    reader.read()
    return Parsed("".join(reader.parts), tuple(dict.fromkeys(reader.imports)))


def resolve(importer: str, value: str) -> str:
    """Return the path that ``value``, written in the file ``importer``, means; raise if it leaves the workspace."""
    if _ABSOLUTE.match(value):
        raise SourceError(
            Code.ABSOLUTE_PATH,
            f"{display_path(value)} is not imported: "
            "name a file of the workspace, relative to the file that imports it.",
        )
    folder = importer.rpartition("/")[0]
    return normalise(f"{folder}/{value}" if folder else value)


class _Reader:
    """Reads a text once, from construct to construct."""

    def __init__(self, text: str) -> None:
        self.parts: list[str] = []
        self.imports: list[str] = []
        self._text = text
        self._copied = 0
        self._paragraph_end = -1
        self._comments_end = True

    def read(self) -> None:
        position = 0
        while match := _OPENING.search(self._text, position):
            match match.lastgroup:
                case "ticks" | "waves":
                    position = self._after_fence(match) if self._is_fence(match) else self._after_code(match)
                case "comment":
                    position = self._after_comment(match)
                case _:
                    position = self._after_import(match)
        self.parts.append(self._text[self._copied :])

    def _is_fence(self, match: re.Match[str]) -> bool:
        start, end = match.span()
        if end - start < 3 or (match.lastgroup == "ticks" and not _AFTER_TICKS.match(self._text, end)):
            return False
        line = self._text.rfind("\n", max(start - _LONGEST_INDENT, 0), start) + 1
        return (line > 0 or start <= _LONGEST_INDENT) and _BEFORE_FENCE.fullmatch(self._text, line, start) is not None

    def _after_fence(self, match: re.Match[str]) -> int:
        mark, length = match.group()[0], len(match.group())
        end = re.compile(rf"\n[ \t>]*+{mark}{{{length},}}+[ \t]*+(?![^\n])").search(self._text, match.end())
        return end.end() if end else len(self._text)

    def _after_code(self, match: re.Match[str]) -> int:
        start, ticks = match.end(), match.group()
        if ticks[0] != "`" or len(ticks) > _LONGEST_TICKS:
            return start
        if start > self._paragraph_end:
            found = _PARAGRAPH_END.search(self._text, start)
            self._paragraph_end = found.start() if found else len(self._text)
        end = re.compile(rf"(?<!`){ticks}(?!`)").search(self._text, start, self._paragraph_end)
        return end.end() if end else start

    def _after_comment(self, match: re.Match[str]) -> int:
        end = self._text.find("-->", match.end()) if self._comments_end else -1
        if end < 0:
            self._comments_end = False
            return match.end()
        self.parts.append(self._text[self._copied : match.start()])
        self._copied = end + len("-->")
        alone = match.start() == 0 or self._text[match.start() - 1] == "\n"
        if alone and (rest := _REST_OF_LINE.match(self._text, self._copied)):
            self._copied = rest.end()
        return self._copied

    def _after_import(self, match: re.Match[str]) -> int:
        bare = match["bare"]
        value = match["quoted"] if bare is None else _trimmed(bare)
        if value and _BEGINS.match(value) and "://" not in value:
            self.imports.append(value)
        return match.end()


def _trimmed(run: str) -> str:
    """Return ``run`` without the punctuation of the sentence around it."""
    value = run.partition("](")[0]
    while value:
        last = value[-1]
        if last in ".,;:!?*'" or (last in _BRACKETS and value.count(last) > value.count(_BRACKETS[last])):
            value = value[:-1]
        elif value.endswith("'s"):
            value = value[:-2]
        else:
            break
    return value
