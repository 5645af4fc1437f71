"""Text that cannot hide anything: invisible and control characters are shown, not passed.

Used for everything that reaches a model or a terminal. What is legitimate stays: line feeds and
tabs; joiners and variation selectors between characters outside ASCII, where emoji, Arabic and
Indic scripts need them.
"""

import re

# C0 (without tab and line feed), DEL, C1, and the characters that draw nothing or reorder what is drawn.
_HIDDEN = (
    "\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f"
    "\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb"
    "\U000e0000-\U000e0fff\ud800-\udfff"
)
_HIDDEN_RUN = re.compile(f"[{_HIDDEN}]+")
_JOINER_IN_SCRIPT = re.compile(r"(?<=[^\x00-\u024f])[\u200c\u200d\ufe0e\ufe0f]{1,2}(?=[^\x00-\x7f]|\s|$|[!-/:-@])")


def visible(text: str) -> tuple[str, int]:
    """Return ``text`` with hidden characters spelled out as ``⟨U+200B⟩``, and how many there were."""
    if text.isascii() and text.isprintable():
        return text, 0
    shown = 0

    def spell(match: re.Match[str]) -> str:
        nonlocal shown
        run = match.group()
        if _JOINER_IN_SCRIPT.match(text, match.start()) and len(run) <= 2:
            return run
        shown += len(run)
        return "".join(f"⟨U+{ord(char):04X}⟩" for char in run)

    return _HIDDEN_RUN.sub(spell, text), shown


def one_line(text: str) -> str:
    """Return ``text`` fit for one line of a message or a terminal: names, titles, errors."""
    return visible(text.replace("\n", "⏎").replace("\t", " "))[0]


def with_unix_lines(text: str) -> str:
    r"""Return ``text`` with ``\r\n`` as ``\n``; a lone carriage return stays, to be shown."""
    return text.replace("\r\n", "\n") if "\r" in text else text
