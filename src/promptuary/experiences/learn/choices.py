"""The alternatives of a stated preference, so that another can contradict it: "tabs over spaces", "never force-push".

Without a model, in a few languages. Pure; every pattern is bounded. Only clear choices count: otherwise two
contradicting preferences are just two preferences.
"""

import re
from collections.abc import Sequence
from functools import cache
from typing import Final, NamedTuple

from promptuary.memory.writeback.wording import telling_wording, words_of

_LONGEST: Final = 80
"""The most characters of an alternative, as words."""
_THING: Final = r"(\S.{0,40}?)"
_END: Final = (
    r"(?= for | when | because | if | since | in | für | wenn | weil | pour | quand | para | cuando |[,.;:!(，。！]|$)"
)

_OVER: Final[Sequence[str]] = (
    rf"(?:prefer|use) (?:to use |using )?{_THING},? (?:over|instead of|rather than) {_THING}{_END}",
    rf"prefer (?!to ){_THING} to {_THING}{_END}",
    rf"(?:bevorzuge|verwende|nutze|nimm) (?:immer )?{_THING} (?:gegenüber|statt|anstatt|anstelle von) {_THING}{_END}",
    rf"(?:préfère|préférons|utilise) {_THING} (?:à|aux?|plutôt qu[e'’]|au lieu d[e'’]) ?{_THING}{_END}",
    rf"(?:prefiero|preferimos|usa) {_THING} (?:a|en vez de|en lugar de) {_THING}{_END}",
    rf"(?:喜[欢歡]|偏好|使用|用){_THING}[,，]?(?:而不是|而非|[胜勝][过過]|不要用?){_THING}{_END}",
)
_ALWAYS: Final = r"\b(?:always|immer|toujours|siempre)\b|总是|總是|始终|始終|一律"
_NEVER: Final = r"\b(?:(?:do not|don['’]t) ever|never|niemals|nie|jamais|nunca)\b|永[远遠]不要|[从從]不|绝对?不要?"
_LEFT_OVER: Final = frozenset({"ne", "n"})
"""The rest of a two-part negation."""


class PreferenceChoice(NamedTuple):
    """The alternatives, equal for every choice among them, and the one that was chosen."""

    topic: str
    value: str


def choice(sentence: str) -> PreferenceChoice | None:
    """Return what a preference chooses and from which alternatives, in a normal form of the words."""
    found = _between(sentence) or _whether(sentence)
    return found if found is not None and len(found.topic) <= _LONGEST else None


def _between(sentence: str) -> PreferenceChoice | None:
    match = _over().search(sentence)
    sides = [telling_wording(one) for one in match.groups() if one] if match else []
    if match is None or len(sides) != 2 or not all(sides) or sides[0] == sides[1]:
        return None
    # The context counts: preferring one thing for scripts and another in containers is not a contradiction.
    where = telling_wording(sentence[match.end() :])
    return PreferenceChoice(" ".join(filter(None, (" or ".join(sorted(sides)), where))), sides[0])


def _whether(sentence: str) -> PreferenceChoice | None:
    """Return whether something is to be done always or never."""
    said = [(value, pattern.search(sentence)) for value, pattern in _adverbs()]
    found = [(value, match) for value, match in said if match]
    if len(found) != 1:
        return None
    ((value, match),) = found
    rest = f"{sentence[: match.start()]} {sentence[match.end() :]}"
    topic = " ".join(word for word in words_of(telling_wording(rest)) if word not in _LEFT_OVER)
    return PreferenceChoice(topic, value) if topic else None


@cache
def _over() -> re.Pattern[str]:
    return re.compile("|".join(_OVER), re.IGNORECASE)


@cache
def _adverbs() -> Sequence[tuple[str, re.Pattern[str]]]:
    return [(value, re.compile(one, re.IGNORECASE)) for value, one in (("always", _ALWAYS), ("never", _NEVER))]
