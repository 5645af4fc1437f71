"""OpenAI's own tokenizer, offline.

tiktoken downloads its vocabulary and checks it against a hash that it carries. Here the vocabulary comes out of our
tokenizer instead and is held against that same hash: if it agrees, both have the very file that was published.
"""

import base64
import hashlib
from unittest import mock

import splintr
import tiktoken
import tiktoken_ext.openai_public as published


def reference(vocabulary: str) -> tiktoken.Encoding:
    """Return tiktoken's encoding of that name, its published hash checked."""
    ours = splintr.Tokenizer.from_pretrained(vocabulary)

    def load(_location: str, expected_hash: str) -> dict[bytes, int]:
        ranks = {token: rank for rank in range(ours.vocab_size) if (token := _token(ours, rank)) is not None}
        known = {token: rank for token, rank in ranks.items() if rank < _published_size(vocabulary)}
        lines = b"".join(base64.b64encode(token) + b" %d\n" % rank for token, rank in known.items())
        if hashlib.sha256(lines).hexdigest() != expected_hash:
            raise AssertionError(f"{vocabulary} is not the published vocabulary")
        return known

    with mock.patch.object(published, "load_tiktoken_bpe", load):
        return tiktoken.Encoding(**getattr(published, vocabulary)())


def _token(ours: "splintr.AnyTokenizer", rank: int) -> bytes | None:
    try:
        return bytes(ours.decode_token_bytes(rank))
    except ValueError:
        return None


def _published_size(vocabulary: str) -> int:
    return {"o200k_base": 199_998, "cl100k_base": 100_256}[vocabulary]
