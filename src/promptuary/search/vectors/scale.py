"""Measures the range of an embedder's cosines, so that one set of constants works for every model.

With one model a question has a cosine of .4 with its answer and .0 with anything else, with another .60 and .45. So
each embedder embeds a few questions and answers once, and the cosines of searches are scaled by the result. The
embedder is measured and not the indexed texts: if these are all about one thing, all cosines are high, and they should
be. The vectors are stored like those of chunks.
"""

import hashlib
import struct
from collections.abc import Sequence
from functools import cache, lru_cache
from math import fsum, sqrt
from operator import mul
from typing import Final

from promptuary.models.protocols import Embedder, Purpose, Scale
from promptuary.search.index.port import VectorStore
from promptuary.search.ranking import UNMEASURED
from promptuary.search.values import vector_space_id

PAIRS: Final = (
    (
        "how do I reset my password",
        "Open the settings, choose Account and follow the link in the mail.",
    ),
    ("when is the dentist appointment", "Tuesday at half past nine, Dr. Weber; bring the insurance card."),
    ("what makes bread dough rise", "Yeast eats sugar and gives off gas, which the gluten holds in small bubbles."),
    (
        "which database did the team choose",
        "We settled on PostgreSQL, since the reports need partial indexes.",
    ),
    ("read a file line by line", "def lines(path):\n    with open(path) as file:\n        yield from file"),
    (
        "does aspirin lower the risk of a stroke",
        "Low doses of acetylsalicylic acid reduced ischaemic events.",
    ),
    ("where did Maria go on holiday", "Maria: We are back from Portugal! Two weeks at the coast, it rained only once."),
    (
        "why was the deployment rolled back",
        "The release doubled the response times, so we restored the old one.",
    ),
    ("who painted the ceiling of the chapel", "Michelangelo worked on the frescoes from 1508 to 1512."),
    ("how much notice must a tenant give", "The lease can be ended by either side with three months' warning."),
    ("what does the cat eat", "Minka gets dry food in the morning and half a tin of tuna in the evening."),
    ("why is the sky blue", "Air scatters short wavelengths of sunlight more than long ones."),
)
"""Questions with their answers, each pair on a different subject. Changing them would change what is measured."""

_USUAL: Final = 0.1432
"""The spread of the model for which the constants of the ranking were chosen."""
_RELATED: Final = 1 / 3
"""The weight of the distance to an answer, beside the differences among all other cosines.

Neither alone predicts the best cosine by chance in a folder of texts: with this weight, two models answered the same
questions, and found nothing for the same small talk.
"""
_LEAST, _MOST = 0.5, 4.0


def measure(store: VectorStore, embedder: Embedder) -> None:
    """Embed the questions and answers with ``embedder``, unless that was done before or it knows its scale."""
    if _own(embedder) is not None:
        return
    space = vector_space_id(embedder)
    for purpose, texts in _texts().items():
        if len(store.get(space, list(texts))) < len(texts):
            store.put(space, dict(zip(texts, embedder.embed(list(texts.values()), purpose), strict=True)))


def measured(store: VectorStore | None, embedder: Embedder | None) -> Scale:
    """Return the scale of ``embedder``; that of the default one, if it was not measured yet."""
    if store is None or embedder is None:
        return UNMEASURED
    if (own := _own(embedder)) is not None:
        return own
    known = store.get(vector_space_id(embedder), scale_hashes())
    if len(known) < 2 * len(PAIRS):
        return UNMEASURED
    questions, answers = (tuple(known[key] for key in texts) for texts in _texts().values())
    return scale_of(questions, answers)


def scale_hashes() -> list[str]:
    """Return the key under which the vectors of questions and answers are stored."""
    return [key for texts in _texts().values() for key in texts]


@lru_cache(maxsize=8)
def scale_of(questions: tuple[bytes, ...], answers: tuple[bytes, ...]) -> Scale:
    """Return the scale computed from the vectors of questions and of their answers, in the same order."""
    left, right = ([struct.unpack(f"<{len(one) // 4}f", one) for one in every] for every in (questions, answers))
    cosines = [[fsum(map(mul, one, other)) for other in right] for one in left]
    related = _mean([row[place] for place, row in enumerate(cosines)])
    others = [one for place, row in enumerate(cosines) for one in (*row[:place], *row[place + 1 :])]
    unrelated = _mean(others)
    noise = _mean([(one - unrelated) ** 2 for one in others])
    spread = sqrt(noise + (_RELATED * (related - unrelated)) ** 2)
    factor = min(_MOST, max(_LEAST, _USUAL / spread)) if spread else 1.0
    return Scale(factor, unrelated, topical=related > unrelated)


def _own(embedder: Embedder) -> Scale | None:
    """Return the ``scale`` attribute of an embedder, if any. Plug-ins need not have one."""
    own = getattr(embedder, "scale", None)
    return own if isinstance(own, Scale) else None


@cache
def _texts() -> dict[Purpose, dict[str, str]]:
    questions, answers = zip(*PAIRS, strict=True)
    return {
        "query": {hashlib.sha256(f"question {one}".encode()).hexdigest(): one for one in questions},
        "passage": {hashlib.sha256(f"answer {one}".encode()).hexdigest(): one for one in answers},
    }


def _mean(values: Sequence[float]) -> float:
    return fsum(values) / len(values)
