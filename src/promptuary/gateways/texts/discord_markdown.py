"""Markdown as Discord reads it. It differs from what models write: it has mentions, spoilers and small print. Pure."""

import re
from functools import lru_cache
from typing import Final

from promptuary.gateways.texts.markdown import RECENT, Dialect, in_dialect, within_fence

_ADDRESS: Final = re.compile(r"(https?://[^\s<>\[\]`*|\\]+)")
_SPECIAL: Final = re.compile(r"([\\`*_~|<\[\]])")
_AT_A_LINE: Final = re.compile(r"^(\s*)([#>-])(?=[#>\s-])", re.MULTILINE)
_EVERYBODY: Final = re.compile(r"@(?=everyone|here)")


@lru_cache(RECENT)
def discord_markdown(markdown: str) -> str:
    """Return Markdown in Discord's dialect; it mentions nobody."""
    return in_dialect(markdown, _DISCORD) or "\u200b"


def _escape(text: str) -> str:
    """Return text in which Discord finds no markup; a URL stays unchanged, since escapes would break it."""
    parts = _ADDRESS.split(text)
    parts[::2] = [_SPECIAL.sub(r"\\\1", part) for part in parts[::2]]
    return _EVERYBODY.sub("@\u200b", _AT_A_LINE.sub(r"\1\\\2", "".join(parts)))


def _code(text: str) -> str:
    if "`" not in text:
        return f"`{text}`"
    return _escape(text) if "``" in text else f"`` {text} ``"


_DISCORD: Final = Dialect(
    words=_escape,
    code=_code,
    block=lambda text, language: f"```{language}\n{within_fence(text)}\n```",
    link=lambda text, url: f"[{text}](<{url}>)",
    marks={"bold": "**", "italic": "*", "strike": "~~"},
    quote="> ",
)
