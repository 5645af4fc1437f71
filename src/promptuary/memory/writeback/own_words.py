"""The person's own words in a message: without quotations, pastes, code and what clients add. Pure and linear.

A pasted sentence cannot be told from a typed one with certainty. What looks like a paste (a fence, a quotation, a mail
header, a long paragraph, a long message) is not taken for the person's words; that errs towards asking.
"""

import re
from collections.abc import Sequence
from typing import Final, NamedTuple

from promptuary.base.references import Span

_MAX_MESSAGE: Final = 2_000
_MAX_PARAGRAPH: Final = 600
_FENCE: Final = re.compile(r"[ \t]*(`{3,}|~{3,})")
_MAIL: Final = 2
"""How many consecutive header lines make a mail header."""
_QUOTED_LINE: Final = re.compile(
    r"[ \t]*(>|\|)|(from|to|subject|date|sent|von|an|betreff|de|asunto|objet)[ \t]*:", re.IGNORECASE
)
_QUOTED: Final = re.compile(r'"[^"\n]{12,}"|“[^”\n]{12,}”|„[^“\n]{12,}“|«[^»\n]{12,}»|「[^」\n]{6,}」|\'[^\'\n]{40,}\'')
_NO_QUOTATION: Final = (
    r"""(@remember:(?:"(?:[^"\\\n]|\\[^\n])*"|'[^'\n]*'|`[^`\n]*`)"""
    r"""|(?<![^\s(:])"[^"\n]{1,11}"(?=[\s.,;:!?)]|$))"""
)
"""Quoted text that is not a quotation: what the person asks to be remembered, and one or two words.

If the quotes around a word were not read as a pair, the second would start a quotation of the person's own words.
"""
_ASKED: Final = re.compile(f"{_NO_QUOTATION}|{_QUOTED.pattern}", re.IGNORECASE | re.MULTILINE)
_SENTENCE_END: Final = re.compile(r"(?<=[.!?;])\s+|[\n。！？；]+")


_WRAPPERS: Final = (
    # Put into a person's message by coding agents and chat pages: nobody typed what is in them.
    *("system-reminder", "environment_context", "environment_details", "context", "source", "sources", "promptuary"),
    *("user_instructions", "INSTRUCTIONS", "turn_aborted", "subagent_notification", "skill", "user_shell_command"),
    *("local-command-stdout", "local-command-stderr", "local-command-caveat", "bash-stdout", "bash-stderr"),
    *("command-name", "command-message", "command-args", "document", "documents", "file", "files", "file_content"),
    *("attached_files", "attached_context", "selected_text", "tool_result", "function_results"),
)
_OPENED: Final = re.compile(rf"<({'|'.join(_WRAPPERS)})(?=[\s>])")
"""Up to its name only: the attributes of a tag may hold anything, such as the name of a file with brackets in it."""


class OwnWords(NamedTuple):
    """The person's own words in a message, and whether there was anything else in it."""

    text: str
    foreign: bool


def wrapped_spans(text: str) -> list[Span]:
    """Return the parts of a text that clients wrap in tags of their own, in order.

    From the first opening tag to the last closing one of the same name: a file in between may hold such tags, and what
    follows them there was not typed either.
    """
    spans, at, unclosed = list[Span](), 0, set[str]()
    while opened := _OPENED.search(text, at):
        at, closing = opened.end(), f"</{opened[1]}>"
        end = -1 if closing in unclosed else text.rfind(closing, at)
        if end < 0:
            unclosed.add(closing)
        else:
            at = end + len(closing)
            spans.append((opened.start(), at))
    return spans


def without_spans(text: str, spans: Sequence[Span]) -> str:
    """Return a text without some parts of it, which are in order."""
    starts, ends = [0, *(end for _, end in spans)], [*(start for start, _ in spans), len(text)]
    return "".join(text[start:end] for start, end in zip(starts, ends, strict=True))


def own_words(message: str) -> OwnWords:
    """Return the person's own words in a message."""
    if len(message) > _MAX_MESSAGE:
        return OwnWords("", foreign=True)
    wrapped = wrapped_spans(message)
    message = without_spans(message, wrapped)
    kept: list[str] = []
    foreign, fence, headers = bool(wrapped), "", 0
    for line in message.splitlines():
        mark = _FENCE.match(line)
        quoted = _QUOTED_LINE.match(line)
        if headers < _MAIL:  # after the head of a mail comes its text
            headers = headers + 1 if quoted and quoted[2] else 0
        if fence or mark:
            foreign = True
            fence = _after(line, mark, fence)
            kept.append("")
        elif quoted or headers >= _MAIL:
            foreign = True
            kept.append("")
        else:
            kept.append(line)
    paragraphs = "\n".join(kept).split("\n\n")
    short = [paragraph for paragraph in paragraphs if len(paragraph) <= _MAX_PARAGRAPH]
    whole = "\n\n".join(short)
    quotations = any(found[1] is None for found in _ASKED.finditer(whole))
    text = _ASKED.sub(lambda found: found[1] or " … ", whole)
    return OwnWords(text.strip(), foreign or quotations or len(short) < len(paragraphs))


def own_beginning(message: str) -> str:
    """Return the person's words before the first quotation or paste: what follows a paste may belong to it.

    A long paragraph counts as a paste; if the message begins with one, its first line does not.
    """
    kept: list[str] = []
    for paragraph in message[:_MAX_MESSAGE].split("\n\n"):
        is_long = len(paragraph) > _MAX_PARAGRAPH
        if is_long and kept:
            break
        for line in paragraph.splitlines()[: 1 if is_long else None]:
            said = own_words(line)
            if said.foreign and not said.text:
                return "\n".join(kept)
            kept.append(said.text)
        if is_long:
            break
        kept.append("")
    return "\n".join(kept).strip()


def _after(line: str, mark: re.Match[str] | None, fence: str) -> str:
    """Return the fence that is open after a line; empty for none."""
    if not fence:
        return mark[1] if mark else ""
    closes = mark is not None and mark[1].startswith(fence) and not line.strip().strip(fence[0])
    return "" if closes else fence


def sentences(text: str) -> list[str]:
    """Return the sentences of a text, without the spaces and list marks around them."""
    return [found for part in _SENTENCE_END.split(text) if (found := part.strip().lstrip("-*• \t").strip())]
