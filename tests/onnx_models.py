"""Tiny models in the ONNX format, written without a library, whose results a test can compute by hand.

An embedder looks every word piece up in a table; a cross-encoder adds up what the pieces of the second text weigh.
"""

import json
import struct
from collections.abc import Mapping, Sequence
from pathlib import Path

WORDS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "alpha", "beta", "gamma", "delta", "query", ":", "cat", "file")
TABLE = (
    (0.0, 0.0, 0.0),
    (0.5, 0.5, 0.5),
    (1.0, 0.0, 0.0),
    (0.0, 1.0, 1.0),
    (3.0, 1.0, 0.0),
    (0.0, 4.0, 1.0),
    (1.0, 0.0, 5.0),
    (-2.0, 2.0, 0.0),
    (0.0, -1.0, 2.0),
    (2.0, 0.0, -1.0),
    (-8.0, 1.0, 2.0),
    (6.0, -2.0, 0.0),
)
"""The vector of each of ``WORDS``."""

FLOAT, INT32, INT64 = 1, 6, 7


def embedder_weights(
    *,
    inputs: Sequence[str] = ("input_ids", "attention_mask", "token_type_ids"),
    pooled: str = "",
    kind: int = INT64,
    external: str = "",
) -> bytes:
    """Return a model that gives each word piece its row of ``TABLE``; with ``pooled``, also the first row as output."""
    nodes = [_node("Gather", ["table", "input_ids"], ["last_hidden_state"])]
    outputs = [_value("last_hidden_state", FLOAT, ["batch", "length", 3])]
    if pooled:
        nodes.append(_node("ReduceMax", ["last_hidden_state"], [pooled], axes=[1], keepdims=0))
        outputs.append(_value(pooled, FLOAT, ["batch", 3]))
    table = _tensor("table", [len(TABLE), 3], [number for row in TABLE for number in row], external=external)
    return _model(nodes, [table], [_value(name, kind, ["batch", "length"]) for name in inputs], outputs)


def table_bytes() -> bytes:
    """Return the numbers of ``TABLE`` as a file next to the weights holds them."""
    return b"".join(struct.pack("<3f", *row) for row in TABLE)


def cross_encoder_weights(*, logits: int = 1) -> bytes:
    """Return a model whose score is the sum of the first numbers of ``TABLE`` over the pieces of the second text."""
    nodes = [
        _node("Gather", ["weights", "input_ids"], ["found"]),
        _node("Cast", ["token_type_ids"], ["second"], to=FLOAT),
        _node("Mul", ["found", "second"], ["counted"]),
        _node("ReduceSum", ["counted", "axis"], ["sum"], keepdims=1),
    ]
    tensors = [_tensor("weights", [len(TABLE)], [row[0] for row in TABLE]), _whole("axis", [1])]
    if logits > 1:
        nodes.append(_node("Neg", ["sum"], ["against"]))
        nodes.append(_node("Concat", ["against", "sum"], ["logits"], axis=1))
    else:
        nodes[-1] = _node("ReduceSum", ["counted", "axis"], ["logits"], keepdims=1)
    inputs = [_value(name, INT64, ["batch", "length"]) for name in ("input_ids", "attention_mask", "token_type_ids")]
    return _model(nodes, tensors, inputs, [_value("logits", FLOAT, ["batch", logits])])


def tokenizer_json() -> str:
    """Return a tokenizer of ``WORDS`` that puts ``[CLS]`` before a text and ``[SEP]`` behind it."""
    special = {name: {"id": name, "ids": [WORDS.index(name)], "tokens": [name]} for name in ("[CLS]", "[SEP]")}

    def piece(name: str, kind: int) -> Mapping[str, object]:
        return {"SpecialToken": {"id": name, "type_id": kind}}

    first, second = {"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}
    single = [piece("[CLS]", 0), first, piece("[SEP]", 0)]
    return json.dumps(
        {
            "version": "1.0",
            "added_tokens": [],
            "normalizer": None,
            "pre_tokenizer": {"type": "BertPreTokenizer"},
            "post_processor": {
                "type": "TemplateProcessing",
                "single": single,
                "pair": [*single, second, piece("[SEP]", 1)],
                "special_tokens": special,
            },
            "decoder": None,
            "model": {
                "type": "WordLevel",
                "vocab": {word: place for place, word in enumerate(WORDS)},
                "unk_token": "[UNK]",
            },
        }
    )


def write_folder(folder: Path, files: Mapping[str, bytes | str | object]) -> Path:
    """Write a folder with a model; what is neither bytes nor text is written as JSON."""
    for name, content in {"tokenizer.json": tokenizer_json(), **files}.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, bytes):
            path.write_bytes(content)
        else:
            path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return folder


def _model(
    nodes: Sequence[bytes], tensors: Sequence[bytes], inputs: Sequence[bytes], outputs: Sequence[bytes]
) -> bytes:
    graph = [_bytes(1, one) for one in nodes] + [_text(2, "tiny")] + [_bytes(5, one) for one in tensors]
    graph += [_bytes(11, one) for one in inputs] + [_bytes(12, one) for one in outputs]
    return b"".join([_number(1, 8), _bytes(7, b"".join(graph)), _bytes(8, _text(1, "") + _number(2, 17))])


def _node(operation: str, inputs: Sequence[str], outputs: Sequence[str], **attributes: int | Sequence[int]) -> bytes:
    parts = [_text(1, name) for name in inputs] + [_text(2, name) for name in outputs] + [_text(4, operation)]
    for name, value in attributes.items():
        if isinstance(value, int):
            parts.append(_bytes(5, _text(1, name) + _number(3, value) + _number(20, 2)))
        else:
            parts.append(_bytes(5, _text(1, name) + b"".join(_number(8, one) for one in value) + _number(20, 7)))
    return b"".join(parts)


def _tensor(name: str, shape: Sequence[int], values: Sequence[float], *, external: str = "") -> bytes:
    parts = [_number(1, size) for size in shape] + [_number(2, FLOAT), _text(8, name)]
    if external:
        parts += [_bytes(13, _text(1, "location") + _text(2, external)), _number(14, 1)]
    else:
        parts.append(_bytes(9, struct.pack(f"<{len(values)}f", *values)))
    return b"".join(parts)


def _whole(name: str, values: Sequence[int]) -> bytes:
    packed = struct.pack(f"<{len(values)}q", *values)
    return _number(1, len(values)) + _number(2, INT64) + _text(8, name) + _bytes(9, packed)


def _value(name: str, kind: int, shape: Sequence[int | str]) -> bytes:
    sizes = [_number(1, one) if isinstance(one, int) else _text(2, one) for one in shape]
    tensor = _number(1, kind) + _bytes(2, b"".join(_bytes(1, one) for one in sizes))
    return _text(1, name) + _bytes(2, _bytes(1, tensor))


def _text(field: int, text: str) -> bytes:
    return _bytes(field, text.encode())


def _bytes(field: int, content: bytes) -> bytes:
    return _varint(field << 3 | 2) + _varint(len(content)) + content


def _number(field: int, value: int) -> bytes:
    return _varint(field << 3) + _varint(value)


def _varint(value: int) -> bytes:
    parts = []
    while value > 127:
        parts.append(value & 127 | 128)
        value >>= 7
    return bytes([*parts, value])
