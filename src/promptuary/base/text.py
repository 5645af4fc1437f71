"""Functions on text: hidden characters made visible, one-line texts, slugs, the words of names, sizes.

``visible`` is applied to everything that reaches a model or a terminal: invisible and control characters are spelled
out. Legitimate ones stay: line feeds and tabs, and the invisible characters that a script or an emoji needs, each only
where it belongs and never two in a row, since a row of them could carry a hidden message.
"""

import re
from collections.abc import Container, Iterator, Sequence
from functools import cache
from typing import Final

# C0 (without tab and line feed), DEL, C1, and the characters that draw nothing or reorder what is drawn.
_HIDDEN = (
    "\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f"
    "\u2028-\u202e\u2060-\u206f\u3164\ud800-\udfff\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
_HIDDEN_RUN = re.compile(f"[{_HIDDEN}]+")
# Nearly no text has any of these: searching for each is faster than a regular expression.
_ASCII_HIDDEN = "".join(chr(code) for code in [*range(32), 127] if chr(code) not in "\t\n")
_HIDDEN_BEYOND_ASCII = re.compile(f"[{_HIDDEN[_HIDDEN.index(chr(0x7F)) :].replace(chr(0x7F), chr(0x80), 1)}]")

# Arabic and related scripts, the Indic scripts and Mongolian: a joiner changes the shape of a letter.
_JOINING = "\u0600-\u109f\u1780-\u1cff\ua800-\uabff\ufb50-\ufdff\ufe70-\ufefc\U00010a00-\U00011fff\U0001e900-\U0001e95f"
_ARABIC = "\u0620-\u06ff\u0750-\u077f\u08a0-\u08ff"
_UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u1a20-\u1aaf"
_PICTURE = "\xa9\xae\u203c-\u3299\U0001f000-\U0001faff"
_HAN = "\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_FLAGS = "|".join("".join(chr(0xE0000 + ord(letter)) for letter in flag) for flag in ("gbeng", "gbsct", "gbwls"))
_LONGEST_LEGITIMATE = 6  # a flag of six letters that draw nothing
_LEGITIMATE = (
    f"(?<=[{_JOINING}])[\u200c\u200d]"
    f"|(?<=\\w)\u200c(?=[{_ARABIC}])"  # a Latin word with a Persian ending
    f"|(?<=[{_PICTURE}])\ufe0f?\u200d(?=[{_PICTURE}])"
    f"|(?<=[{_PICTURE}])[\ufe0e\ufe0f]"
    "|(?<=[0-9#*])\ufe0f(?=\u20e3)"  # keycaps
    f"|(?<=[{_HAN}])[\ufe00-\ufe02\U000e0100-\U000e01ef]"
    f"|(?<=[{_UNSPACED}])\u200b(?=[{_UNSPACED}])"  # where a line may break
    "|(?<=[\u1820-\u18aa])[\u180b-\u180f]"
    f"|(?<=\U0001f3f4)(?:{_FLAGS})\U000e007f"
)


def valid_unicode(text: str) -> str:
    """Return ``text`` with U+FFFD for lone surrogates, so that it can be encoded."""
    if text.isascii():
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def visible(text: str) -> tuple[str, int]:
    """Return ``text`` with hidden characters spelled out as ``⟨U+200B⟩``, and their number."""
    if text.isascii() and text.isprintable():  # most titles and names
        return text, 0
    if not any(char in text for char in _ASCII_HIDDEN) and (text.isascii() or not _HIDDEN_BEYOND_ASCII.search(text)):
        return text, 0
    shown = 0

    def spell(match: re.Match[str]) -> str:
        nonlocal shown
        # Compiled only here: it takes long, and few texts need it.
        legitimate = re.compile(_LEGITIMATE).match(text, match.start())
        if legitimate and legitimate.end() == match.end():
            return match.group()
        shown += len(match.group())
        return "".join(f"⟨U+{ord(char):04X}⟩" for char in match.group())

    return _HIDDEN_RUN.sub(spell, text), shown


class VisibleStream:
    """Makes a text visible that arrives piece by piece: a character is judged by those around it, as in ``visible``.

    Hidden characters at the end of a piece are held back until it is known what follows them; a carriage return before
    a line feed is none.
    """

    def __init__(self) -> None:
        self._before, self._held = "", ""

    def piece(self, text: str) -> str:
        """Return what to show for the next piece."""
        text = with_unix_lines(self._held + text)
        end = len(text)
        while end and len(text) - end <= _LONGEST_LEGITIMATE and _HIDDEN_RUN.match(text, end - 1):
            end -= 1
        if len(text) - end > _LONGEST_LEGITIMATE:  # too many to belong to anything
            end = len(text)
        self._held = text[end:]
        return self._shown(text[:end])

    def rest(self) -> str:
        """Return what to show at the end of the text; another one may begin."""
        shown, self._held = self._shown(self._held), ""
        self._before = ""
        return shown

    def _shown(self, text: str) -> str:
        if not text:
            return ""
        shown = visible(self._before + text)[0][len(self._before) :]
        self._before = "" if _HIDDEN_RUN.match(text[-1]) else text[-1]
        return shown


def one_line(text: str) -> str:
    """Return ``text`` as one printable line: for names, titles and error messages."""
    return visible(text.replace("\n", "⏎").replace("\t", " "))[0]


def is_unicode(text: str) -> bool:
    """Return whether ``text`` is valid Unicode; a file name or an argument may contain bytes that are not."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def shortened(text: str, most: int, mark: str = "…") -> str:
    """Return ``text`` in at most ``most`` characters; if it is cut, it ends with ``mark``."""
    return text if len(text) <= most else text[: most - len(mark)] + mark


def beginning(text: str, most: int, mark: str = "…") -> str:
    """Return at most the first ``most`` characters of ``text``; if there are more, ``mark`` follows them."""
    return text if len(text) <= most else text[:most] + mark


def counted(number: int, noun: str) -> str:
    """Return "1 turn", "2 turns", "1,000 turns"."""
    return f"{number:,} {noun}{'s' * (number != 1)}"


def of_whole(part: int, whole: int) -> str:
    """Return "197", or "197 of 1,253" if the whole is known."""
    return f"{part:,} of {whole:,}" if whole else f"{part:,}"


_MAX_NAMED: Final = 5


def list_names(names: Sequence[str]) -> str:
    """Return some names in a sentence: the first few, and how many more there are."""
    more = len(names) - _MAX_NAMED
    return ", ".join(map(one_line, names[:_MAX_NAMED])) + (f" and {more:,} more" if more > 0 else "")


_MASK: Final = "⟨masked: "


def masked_as(what: str) -> str:
    """Return the mask that replaces a secret."""
    return f"{_MASK}{what}⟩"


def count_masked(text: str) -> int:
    """Return how many secrets are masked in ``text``."""
    return text.count(_MASK)


def without_forged_masks(text: str) -> str:
    """Return ``text`` with the bracket of what looks like a mask spelled out, so that only our masks count."""
    return text.replace(_MASK, f"⟨U+{ord(_MASK[0]):04X}⟩{_MASK[1:]}") if _MASK in text else text


def with_unix_lines(text: str) -> str:
    r"""Return ``text`` with ``\r\n`` replaced by ``\n``. A lone carriage return stays; ``visible`` shows it."""
    return text.replace("\r\n", "\n") if "\r" in text else text


def split_lines(text: str) -> list[str]:
    """Return the lines of ``text``, each with its line feed; form feeds and U+2028 do not end a line, as in editors."""
    lines = [line + "\n" for line in text.split("\n")]
    lines[-1] = lines[-1][:-1]
    return lines if lines[-1] else lines[:-1]


def slug(label: str) -> str:
    """Return ``label`` as the name of a link or a file: small letters, digits, underscores and hyphens."""
    # Invisible letters count as letters and would make two slugs differ invisibly.
    return re.sub(r"[^\w-]+", "-", visible(label)[0].lower()).strip("-") or "file"


def unique_slug(label: str, taken: Container[str]) -> str:
    """Return the slug of ``label``, with a number if it is ``taken``."""
    name = unique = slug(label)
    number = 1
    while unique in taken:
        number += 1
        unique = f"{name}-{number}"
    return unique


UNSPACED: Final = (
    # Thai, Lao, Myanmar, Khmer, kana, Han, Hangul.
    r"[\u0e01-\u0e3a\u0e40-\u0e4e\u0e81-\u0ecd\u1000-\u109f\u1780-\u17d3\u3005-\u3007\u3041-\u3096\u309d-\u309f\u30a1-\u30fa"
    r"\u30fc-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3\uf900-\ufaff\U00020000-\U0003ffff]+"
)
"""A run of a script that is written without spaces, or of Korean, which joins particles to its words.

Not compiled: few texts need it.
"""

_ASCII_WORD = re.compile("[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")


def name_word_pattern(text: str) -> re.Pattern[str]:
    """Return the pattern of each word of the names in ``text``: ``HTTP``, ``Server`` and ``2`` of ``HTTPServer_2``."""
    return _ASCII_WORD if text.isascii() else _any_word()


@cache
def _any_word() -> re.Pattern[str]:
    return re.compile(rf"{UNSPACED}|[A-Z]+(?![a-z])|[A-Z]?[^\W\d_A-Z{UNSPACED[1:-2]}]+|\d+")


def any_of(*patterns: str) -> str:
    """Return a regular expression for any of ``patterns``. ``re`` compiles it on first use, and caches that."""
    return "|".join(patterns)


def pairs(letters: str) -> Iterator[str]:
    """Yield each two characters that follow one another: how a text without spaces is searched."""
    return (letters[at : at + 2] for at in range(len(letters) - 1))


_UNITS = ("B", "kB", "MB", "GB", "TB")


def human_size(count: int) -> str:
    """Return a number of bytes for people: ``980 B``, ``4.1 kB``."""
    size = float(count)
    for unit in _UNITS[:-1]:
        if size < 1000:
            return f"{count} B" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1000
    return f"{size:.1f} {_UNITS[-1]}"
