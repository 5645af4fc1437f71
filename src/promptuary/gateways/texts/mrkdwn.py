"""Markdown as Slack writes it: one star for bold, a line below for italic, and ``<address|text>`` for a link. Pure.

Everything that Slack obeys stands between angle brackets, which a text cannot have: they are escaped in it.
"""

from functools import lru_cache
from typing import Final

from promptuary.gateways.texts.markdown import RECENT, Dialect, in_dialect, within_fence


@lru_cache(RECENT)
def mrkdwn(markdown: str) -> str:
    """Return a text of Markdown as Slack writes it; nobody is called by it."""
    return in_dialect(markdown, _SLACK) or " "


def _escaped(text: str) -> str:
    """Return a text in which nothing is a command of Slack, such as one that calls everybody."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


_SLACK: Final = Dialect(
    words=_escaped,
    code=lambda text: f"`{_escaped(text)}`",
    block=lambda text, _: f"```\n{_escaped(within_fence(text))}\n```",
    link=lambda text, url: f"<{_escaped(url)}|{_escaped(text)}>",
    marks={"bold": "*", "italic": "_", "strike": "~"},
    quote=">",
)
