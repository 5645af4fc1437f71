"""Headings as a person reads them: without the marks that make them headings, or bold, or links."""

import re
from typing import Final

_LONGEST: Final = 200
_PLAIN = re.compile(r"[A-Za-z0-9.,:'()]+(?: [A-Za-z0-9.,:'()]+){0,20}")
_CLOSING = re.compile(r"[ \t]+[#=]+\Z")
_ATTRIBUTES = re.compile(r"[ \t]*\{[^{}]*\}\Z")
_LINK = re.compile(r"!?\[([^\[\]]*)\](?:\([^()]*\)|\[[^\[\]]*\])")
_TAG = re.compile(r"</?[A-Za-z][^<>]*>")
# A mark between two letters belongs to a name; one between two spaces is arithmetic.
_EMPHASIS = re.compile(r"(?<![\\\w*])\*+(?=\S)|(?<=[^\s\\])\*+(?![\w*])|(?<!\w)_+(?=\w)|(?<=\w)_+(?!\w)|~~")
_ESCAPE = re.compile(r"\\([!-/:-@\[-`{-~])")


def plain_title(heading: str) -> str:
    """Return the words of ``heading``, whose leading marks are gone already."""
    if _PLAIN.fullmatch(heading):
        return heading
    text = heading[:_LONGEST].strip()
    if text.endswith(("#", "=")):
        text = _CLOSING.sub("", text)
    if text.endswith("}"):
        text = _ATTRIBUTES.sub("", text)
    spans = text.split("`")
    # An odd number of backticks has no pairs: then they are ordinary characters.
    if len(spans) % 2 == 0:
        spans = [text]
    words = [span if index % 2 else _without_marks(span) for index, span in enumerate(spans)]
    return " ".join("".join(words).split())


def _without_marks(text: str) -> str:
    # Most headings have none of these, and looking for a character is quicker than any expression.
    if "[" in text:
        text = _LINK.sub(r"\1", text)
    if "<" in text:
        text = _TAG.sub("", text)
    if "*" in text or "_" in text or "~" in text:
        text = _EMPHASIS.sub("", text)
    return _ESCAPE.sub(r"\1", text) if "\\" in text else text
