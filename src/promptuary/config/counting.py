"""Notes for the person about how the tokens of a model are counted. Pure."""

from collections.abc import Sequence

from promptuary.config.values import cut
from promptuary.tokens.counting import known_model


def counting_notes(model: str, assumed: int, approximate: str) -> Sequence[str]:
    """Return a note if the window of the model is a guess, or if its tokens cannot be counted exactly.

    ``assumed`` is the assumed window, if one is; ``approximate`` the vocabulary that is used instead of its own.
    """
    name = cut(model)
    if assumed:
        return [f"the window of {name} is not known: {assumed:,} tokens are assumed; set window"]
    if approximate:
        why = "its vocabulary is not public" if known_model(model) else "the model is unknown"
        return [f"token counts for {name} are approximate: {why}, so {approximate} is used"]
    return []
