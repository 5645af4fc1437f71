"""Wildcards: the patterns of ``@glob:`` and of ignore files, as regular expressions.

``*`` and ``?`` stay within one path segment, ``**`` as a whole segment spans any number of them,
``[...]`` is a class with ranges, negation and POSIX names. Matching takes time linear in the length of the path: every
star but the last is atomic, so a hostile pattern cannot make the matcher backtrack. Knows patterns and strings, not
files.
"""

import re
from collections.abc import Iterable, Iterator
from itertools import pairwise

from promptuary.base.errors import Code, SourceError

MAX_ALTERNATIVES = 256
"""The most patterns that the braces of one pattern may expand to."""

NOTHING = re.compile(r"(?!)")
"""Matches no text; a malformed pattern becomes this."""

_POSIX = {
    "alnum": "0-9A-Za-z",
    "alpha": "A-Za-z",
    "blank": " \\t",
    "cntrl": "\\x00-\\x1f\\x7f",
    "digit": "0-9",
    "graph": "!-~",
    "lower": "a-z",
    "print": " -~",
    "punct": "!-/:-@\\[-`{-~",
    "space": " \\t\\n\\r",
    "upper": "A-Z",
    "xdigit": "0-9A-Fa-f",
}
_GLOBSTAR = re.compile(r"\*{2,}")


class MalformedPatternError(ValueError):
    """A class without its closing bracket, or with an unknown POSIX name; such a pattern matches nothing."""


def match_glob(paths: Iterable[str], patterns: Iterable[str], excludes: Iterable[str] = ()) -> list[str]:
    """Return the paths that match a pattern and no exclude, sorted.

    A pattern is matched against the whole path, relative to the workspace; one that ends in ``/`` means everything
    below that folder.
    """
    wanted = union(patterns)
    unwanted = union(excludes)
    return sorted(path for path in paths if wanted.match(path) and not unwanted.match(path))


def union(patterns: Iterable[str]) -> re.Pattern[str]:
    """Return one expression for any of the patterns, with their braces expanded."""
    expressions = [
        glob_expression(f"{single}**" if single.endswith("/") else single)
        for pattern in patterns
        for single in expand_braces(pattern.removeprefix("./"))
    ]
    return (
        re.compile("|".join(f"(?:{expression})" for expression in expressions), re.DOTALL) if expressions else NOTHING
    )


def glob_expression(pattern: str) -> str:
    """Return the source of an expression that matches whole paths; a malformed pattern matches none."""
    try:
        return _path_expression([part for part in segments(pattern) if part]) + r"\Z"
    except MalformedPatternError:
        return NOTHING.pattern


def segments(pattern: str) -> list[str]:
    """Split a pattern at its slashes; a slash inside a class is a member of the class, which nothing can match."""
    found = [""]
    index = 0
    while index < len(pattern):
        end = index + (2 if pattern[index] == "\\" else 1)
        if pattern[index] == "[":
            _, end = _class(pattern, end)
        if pattern[index:end] == "/":
            found.append("")
        else:
            found[-1] += pattern[index:end]
        index = end
    return found


def expand_braces(pattern: str) -> list[str]:
    """Expand ``{a,b}``: ``src/{a,b}.py`` gives ``src/a.py`` and ``src/b.py``.

    Raises ``SourceError`` for more than ``MAX_ALTERNATIVES`` patterns.
    """
    done: list[str] = []
    pending = [pattern]
    while pending:
        current = pending.pop(0)
        group = _innermost_braces(current)
        if group is None:
            done.append(current)
        else:
            start, end = group
            choices = current[start + 1 : end].split(",")
            pending += [current[:start] + choice + current[end + 1 :] for choice in choices]
        if len(done) + len(pending) > MAX_ALTERNATIVES:
            raise SourceError(
                Code.BAD_PATTERN,
                f"The braces expand to more than {MAX_ALTERNATIVES} patterns; write fewer alternatives.",
            )
    return list(dict.fromkeys(done))


def _innermost_braces(pattern: str) -> tuple[int, int] | None:
    for end in (index for index, char in enumerate(pattern) if char == "}"):
        start = pattern.rfind("{", 0, end)
        if start >= 0 and "," in pattern[start:end]:
            return start, end
    return None


def _path_expression(parts: list[str]) -> str:
    """Join segments; each run between two ``**`` matches at the first place where it fits."""
    runs: list[list[str]] = [[]]
    for part, following in pairwise([*parts, ""]):
        if _GLOBSTAR.fullmatch(part):
            if runs[-1] or len(runs) == 1:
                runs.append([])
            if not following:
                return _runs_expression(runs[:-1], open_end=True)
        else:
            runs[-1].append(segment_expression(part))
    return _runs_expression(runs, open_end=False)


def _runs_expression(runs: list[list[str]], *, open_end: bool) -> str:
    expressions = ["/".join(run) for run in runs]
    if open_end:
        first, *rest = expressions
        return (f"{first}/" if first else "") + "".join(f"(?>(?:[^/]+/)*?{run}/)" for run in rest) + ".+"
    if len(expressions) == 1:
        return expressions[0]
    first, *middle, last = expressions
    skips = "".join(f"(?>(?:[^/]+/)*?{run}/)" for run in middle)
    return (f"{first}/" if first else "") + skips + f"(?:.+/)?{last}"


def segment_expression(segment: str) -> str:
    """Return the source of an expression for one path segment, without anchors."""
    first, *rest = _chunks(segment)
    if not rest:
        return first
    *middle, last = rest
    return first + "".join(f"(?>[^/]*?{chunk})" for chunk in middle if chunk) + "[^/]*" + last


def _chunks(segment: str) -> list[str]:
    """Split a segment at its stars, each piece already an expression."""
    chunks = [""]
    for token in _tokens(segment):
        if token == "*":  # noqa: S105
            chunks.append("")
        else:
            chunks[-1] += token
    return chunks


def _tokens(segment: str) -> Iterator[str]:
    index = 0
    while index < len(segment):
        char = segment[index]
        index += 1
        if char == "*":
            yield "*"
        elif char == "?":
            yield "[^/]"
        elif char == "[":
            expression, index = _class(segment, index)
            yield expression
        elif char == "\\":
            if index == len(segment):
                raise MalformedPatternError(segment)
            yield re.escape(segment[index])
            index += 1
        else:
            yield re.escape(char)


def _class(segment: str, index: int) -> tuple[str, int]:
    """Parse the class that opens just before ``index``; return its expression and the index after it."""
    negated = segment[index : index + 1] in {"!", "^"}
    index += negated
    members = ""
    first = True
    while first or segment[index : index + 1] != "]":
        first = False
        named = re.compile(r"\[:([a-z]*):\]").match(segment, index)
        if named:
            if named[1] not in _POSIX:
                raise MalformedPatternError(segment)
            members += _POSIX[named[1]]
            index = named.end()
            continue
        low, index = _class_char(segment, index)
        high = low
        if segment[index : index + 1] == "-" and segment[index + 1 : index + 2] not in {"", "]"}:
            high, index = _class_char(segment, index + 1)
        if low <= high:
            members += f"{re.escape(low)}-{re.escape(high)}"
    inside = f"[{'^' if negated else ''}{members}]" if members else ("." if negated else NOTHING.pattern)
    return f"(?!/){inside}", index + 1


def _class_char(segment: str, index: int) -> tuple[str, int]:
    if segment[index : index + 1] == "\\":
        index += 1
    if index >= len(segment):
        raise MalformedPatternError(segment)
    return segment[index], index + 1
