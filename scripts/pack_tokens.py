"""Writes the packed tokens of the default vocabulary anew, from the tokenizer's own copy of it."""

import splintr

from promptuary.tokens.counting import DEFAULT_VOCABULARY, TABLE
from promptuary.tokens.vocabulary import pack


def ordinary_tokens(vocabulary: str) -> dict[bytes, int]:
    """Return every token of a vocabulary with its rank, without the control tokens."""
    tokenizer = splintr.Tokenizer.from_pretrained(vocabulary)
    first_control = min(tokenizer.special_tokens().values())
    ranks = range(min(first_control, tokenizer.vocab_size))
    return {bytes(tokenizer.decode_token_bytes(rank)): rank for rank in ranks if _exists(tokenizer, rank)}


def _exists(tokenizer: "splintr.AnyTokenizer", rank: int) -> bool:
    try:
        tokenizer.decode_token_bytes(rank)
    except ValueError:
        return False
    return True


if __name__ == "__main__":
    TABLE.parent.mkdir(exist_ok=True)
    TABLE.write_bytes(pack(ordinary_tokens(DEFAULT_VOCABULARY)))
