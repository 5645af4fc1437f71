"""Markdown in Slack's dialect: one star for bold, an underscore for italic, and ``<address|text>`` for a link. Pure.

Slack interprets only what is between angle brackets, and these are escaped in a text.
"""

from functools import lru_cache
from typing import Final

from promptuary.gateways.texts.markdown import RECENT, Dialect, in_dialect, within_fence


@lru_cache(RECENT)
def mrkdwn(markdown: str) -> str:
    """Return Markdown in Slack's dialect; it mentions nobody."""
    return in_dialect(markdown, _SLACK) or " "


def _escape(text: str) -> str:
    """Return a text that contains no Slack command, such as one that notifies everybody."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


_SLACK: Final = Dialect(
    words=_escape,
    code=lambda text: f"`{_escape(text)}`",
    block=lambda text, _: f"```\n{_escape(within_fence(text))}\n```",
    link=lambda text, url: f"<{_escape(url)}|{_escape(text)}>",
    marks={"bold": "*", "italic": "_", "strike": "~"},
    quote=">",
)
