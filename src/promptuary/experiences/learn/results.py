"""Whether a call of a tool failed, and what it said went wrong. Pure and linear.

Results of tools have no common format. The strongest sign decides: first the caller's ``is_error``; then the fields of
a JSON answer (ok, exit_code, status, error); then the formats in which programs report a failure in any language: a
traceback, a panic, an exit code, a status line of HTTP, the name of an error. Last come a few words at the start of the
first line, such as "error:", in the languages of ``_WORDS``. A text that merely mentions errors is not a failure:
reading a log is a success.
"""

import errno
import json
import re
from collections.abc import Mapping
from typing import Any, Final

from msgspec import Struct

from promptuary.base.messages import Item
from promptuary.base.text import any_of

MAX_PROBLEM: Final = 160
_MAX_JSON: Final = 64_000
_EDGE: Final = 4_000
"""How many characters at the beginning and at the end of a result are searched for signs."""
_EDGE_LINES: Final = 6
_MAX_EXIT: Final = 100

_FLAGS: Final = {
    **dict.fromkeys(("iserror", "failed", "timedout", "denied", "rejected", "cancelled"), True),
    **dict.fromkeys(("ok", "success", "succeeded", "written", "approved", "allowed"), False),
}
"""Boolean fields, and which value means that a call failed."""
_EXITS: Final = frozenset({"exitcode", "exitstatus", "returncode", "rc"})
_STATES: Final = frozenset({"status", "statuscode", "httpstatus", "httpcode"})
_FAILED: Final = frozenset(
    {"error", "failed", "failure", "fail", "exception", "timeout", "refused", "denied", "rejected", "declined"}
    | {"cancelled", "canceled"}
)
_WORKED: Final = frozenset({"ok", "success", "succeeded", "successful", "completed", "done", "passed"})
_ERRORS: Final = ("error", "errors", "exception")
_MESSAGES: Final = (*_ERRORS, "message", "detail", "reason", "stderr", "output", "stdout")
_FIRST_HTTP_ERROR: Final = 400

_EXIT: Final = (
    r"[\[(<]?(?:[\w ]{0,40}\b)?(?:exit|return)(?:ed with)?[ _-]?(?:code|status)[ \t]{0,3}[:=]?[ \t]{0,3}"
    r"(-?\d{1,10})[\])>.]?"
)
_MARK: Final = r"</?(?:tool_use_)?error>"
_FRAME: Final = r'File "[^"\n]{1,300}", line \d|[~^]+$|raise \w'
_CALL_SITE: Final = r"at \S[^\n]{0,300}:\d+\)?$"
_NAMED: Final = r"(?:\w+\.){0,9}[A-Z]\w{0,60}(?:Error|Exception|Fault|Interrupt|Exit)\b"
_SHAPES: Final = any_of(
    r"Traceback \(most recent call last\):",
    rf"(?:Uncaught |Unhandled |Exception in thread \S{{1,60}} )?{_NAMED}(?: ?\[\w{{1,60}}\])?(?::|$)",
    r"thread '[^'\n]{0,60}' (?:\(\d+\) )?panicked at ",
    r"panic: ",
    r"error(?:\[E\d{1,6}\]|:? ?TS\d{1,6}|:? ?CS\d{1,6})",
    r"HTTP/\d(?:\.\d)? [45]\d\d\b",
    rf"(?:[^\s:]{{1,200}}: ){{0,3}}(?:{'|'.join(sorted(errno.errorcode.values()))})(?:: |$)",
    _MARK,
)
"""How a program's report of a failure begins, in any language."""
_WORDS: Final = (
    r"(?:fatal|error|failed|fehler|erreur|échec|fallo|errore|erro|ошибка|错误|錯誤|失败|失敗|エラー|오류)"
    r"\s?[:：](?!\s?0\b)"
)
"""Words that mean a failure if nothing else does, only at the beginning of the first line."""
_REFUSED: Final = any_of(
    r"(?:refused|denied|rejected|declined|cancell?ed)\s?[:：]",
    r"\[?(?:request|operation) (?:interrupted|cancell?ed)",
    r"(?:the )?user (?:doesn['’]t want|does not want|denied|rejected|declined|refused|cancell?ed)",
    r"(?:[\w-]+ ){0,5}(?:rejected|denied|declined|refused|cancell?ed) by (?:the )?user\b",
    r"permission to use [^\n]{1,120} has been denied",
    r"(?:[\w-]+ ){1,3}requested permissions? to [^\n]{1,200} but you haven['’]t granted",
)
"""How agents report at the beginning of the first line that the person refused a call: nothing was done."""


class Result(Struct, frozen=True):
    """The outcome of a call: whether it failed and, if so, one line of the tool's message."""

    failed: bool
    problem: str = ""


def result_of(item: Item) -> Result:
    """Return the outcome of the call that ``item``, the message of a tool, answers."""
    answer = _object(item.content)
    failed = item.is_error
    if failed is None and answer is not None:
        failed = _says_failed(answer)
    if failed is None:
        failed = answer is None and _looks_failed(item.content)
    return Result(failed, _problem(item.content, answer) if failed else "")


def error_name(problem: str) -> str:
    """Return the name of the error in a line, such as ``ModuleNotFoundError``; empty if it has none."""
    found = re.search(_NAMED, problem)
    return found[0].rpartition(".")[2] if found else ""


def _object(text: str) -> Mapping[str, Any] | None:
    """Parse a text as a JSON object with folded names; ``None`` if it is not one, or too long to parse."""
    if len(text) > _MAX_JSON or not text[:_EDGE].lstrip().startswith("{"):
        return None
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return {_fold(name): one for name, one in value.items()}


def _fold(name: str) -> str:
    return name.casefold().replace("_", "").replace("-", "")


def _says_failed(answer: Mapping[str, Any]) -> bool | None:
    """Return whether the fields of an answer say that the call failed; ``None`` if they say neither."""
    said = [verdict for name, value in answer.items() if (verdict := _verdict(name, value)) is not None]
    # A wrapper may answer "ok": true for a program that failed: its output was fetched.
    return any(said) if said else None


def _verdict(name: str, value: object) -> bool | None:
    if isinstance(value, bool) and name in _FLAGS:
        return value is _FLAGS[name]
    if isinstance(value, int) and not isinstance(value, bool) and name in _EXITS:
        return value != 0
    if name in _STATES:
        return _state(value)
    if name in _ERRORS:
        return bool(value)
    return None


def _state(value: object) -> bool | None:
    if isinstance(value, int) and not isinstance(value, bool):
        return value >= _FIRST_HTTP_ERROR
    word = _fold(value[:20]) if isinstance(value, str) else ""
    return True if word in _FAILED else False if word in _WORKED else None


def _looks_failed(text: str) -> bool:
    first, last = _edges(text)
    for line in (*last, *first):
        if code := _exit_code(line):
            return int(code[1]) != 0
    if first and (_is_report(first[0]) or re.match(_WORDS, first[0], re.IGNORECASE)):
        return True
    return bool(first and re.match(_REFUSED, first[0], re.IGNORECASE)) or _ends_in_stack(last)


def _ends_in_stack(lines: list[str]) -> bool:
    """Return whether the last lines are a stack trace with the name of an error; one further up is quoted text."""
    if lines and re.match(_CALL_SITE, lines[-1]):
        return any(map(_is_report, lines))
    return any(re.match(_FRAME, line) for line in lines[-3:-1]) and _is_report(lines[-1])


def _is_report(line: str) -> bool:
    return re.match(_SHAPES, line) is not None


def _edges(text: str) -> tuple[list[str], list[str]]:
    """Return the first and the last lines of a text that are not empty, each without the spaces around it."""
    first = [line.strip() for line in text[:_EDGE].splitlines() if line.strip()]
    last = [line.strip() for line in text[-_EDGE:].splitlines() if line.strip()]
    return first[:_EDGE_LINES], last[-_EDGE_LINES:]


def _problem(text: str, answer: Mapping[str, Any] | None) -> str:
    """Return the line that says what went wrong, in the tool's words."""
    told = _error_message(answer) if answer is not None else text
    first, last = _edges(told)
    spoken = [line for line in (*first, *last) if not _exit_code(line) and not re.fullmatch(_MARK, line)]
    named = [line for line in reversed(spoken) if _is_report(line) and not line.startswith("Traceback")]
    line = next(iter((*named, *spoken, *first)), "")
    return re.sub(_MARK, "", line)[:MAX_PROBLEM].strip()


def _error_message(answer: Mapping[str, Any]) -> str:
    """Return the error message in an answer."""
    for name in _MESSAGES:
        value = answer.get(name)
        if isinstance(value, list) and value:
            value = value[0]
        if isinstance(value, dict):
            value = next((value[inner] for inner in ("message", "detail", "type", "code") if value.get(inner)), None)
        if isinstance(value, str) and value.strip():
            return value
    codes = (f"{name} {answer[name]}" for name in (*_EXITS, *_STATES) if isinstance(answer.get(name), int))
    return next(codes, "")


def _exit_code(line: str) -> re.Match[str] | None:
    """Return the match of a line with the exit code of a program; its first group is the code."""
    said = line[:_MAX_EXIT].casefold()
    return (
        re.fullmatch(_EXIT, line, re.IGNORECASE)
        if len(line) <= _MAX_EXIT and ("code" in said or "status" in said)
        else None
    )
