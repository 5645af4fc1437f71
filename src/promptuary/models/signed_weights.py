"""Makes 8-bit weights in the ONNX format signed, where the processor multiplies such ones faster. Pure.

A weight without a sign and its zero point are both 128 larger than the same with a sign: products of matrices are equal
to the last bit. Older processors add products of signed weights up in 16 bits, which overflow; the instructions that
are asked for here (VNNI) do not, and need signed weights. So the vectors of a model are the same on every machine, and
only the time differs. Knows of the format only what that takes; a model that is stored otherwise is left as it is.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple

_GRAPH, _NODE, _TENSOR = 7, 1, 5
"""The fields of a model, and of its graph."""
_INPUT, _OPERATION = 1, 4
_KIND, _NUMBERS, _NAME, _RAW = 2, 5, 8, 9
_UNSIGNED, _SIGNED = 2, 3
_VARINT, _FIXED_64, _BYTES, _FIXED_32 = 0, 1, 2, 5
_PRODUCT: Final = b"MatMulInteger"
_FLIPPED: Final = bytes(map((128).__xor__, range(256)))
"""Each byte 128 less, as a signed number is written."""
_CPU: Final = Path("/proc/cpuinfo")
_FIRST: Final = 16_384
"""The first characters, which describe the first core."""
_FAST: Final = frozenset({"avx512_vnni", "avx_vnni"})


@cache
def helps() -> bool:
    """Return whether this processor multiplies signed weights faster, and exactly."""
    try:
        with _CPU.open(encoding="ascii", errors="replace") as file:
            text = file.read(_FIRST)
    except OSError:
        return False
    flags = next((line for line in text.split("\n") if line.startswith("flags")), "")
    return not _FAST.isdisjoint(flags.split())


def with_signed_weights(model: bytes) -> bytes:
    """Return ``model`` with signed weights where it multiplies by unsigned ones; unchanged if there are none."""
    try:
        graphs = [field for field in _fields(model, 0, len(model)) if field.number == _GRAPH]
        if len(graphs) != 1:
            return model
        (graph,) = graphs
        inner = [*_fields(model, graph.start, graph.end)]
        chosen = _chosen(model, inner)
    except (IndexError, ValueError):
        return model
    if not chosen:
        return model
    parts: list[bytes] = []
    for field in inner:
        flipped = chosen.get(field.start)
        parts.append(model[field.tag : field.end] if flipped is None else _as_bytes(_TENSOR, flipped))
    return b"".join((model[: graph.tag], _as_bytes(_GRAPH, b"".join(parts)), model[graph.end :]))


class _Field(NamedTuple):
    """A field of a message: where its tag and its content begin, and where it ends."""

    number: int
    wire: int
    tag: int
    start: int
    end: int


def _chosen(model: bytes, inner: Sequence[_Field]) -> dict[int, bytes]:
    """Return the new content of each tensor that is flipped, by where the old one begins."""
    uses: dict[bytes, set[int]] = defaultdict(set)
    pairs: list[tuple[bytes, bytes]] = []
    for field in inner:
        if field.number == _NODE:
            inputs, operation = _inputs(model, field)
            for place, name in enumerate(inputs):
                uses[name].add(place if operation == _PRODUCT else -1)
            if operation == _PRODUCT and len(inputs) == 4:
                pairs.append((inputs[1], inputs[3]))
    unsigned = {name: tensor for tensor in inner if tensor.number == _TENSOR and (name := _unsigned(model, tensor))}
    found: dict[int, bytes] = {}
    for pair in pairs:
        # Both or none, and only if nobody else reads them.
        if unsigned.keys() >= set(pair) and [uses[name] for name in pair] == [{1}, {3}]:
            found |= {tensor.start: _flipped(model, tensor) for tensor in (unsigned[name] for name in pair)}
    return found


def _inputs(model: bytes, node: _Field) -> tuple[list[bytes], bytes]:
    inputs, operation = [], b""
    for field in _fields(model, node.start, node.end):
        if field.number == _INPUT:
            inputs.append(model[field.start : field.end])
        elif field.number == _OPERATION:
            operation = model[field.start : field.end]
    return inputs, operation


def _unsigned(model: bytes, tensor: _Field) -> bytes:
    """Return the name of a tensor of unsigned bytes; empty if it has others."""
    kind, name = 0, b""
    for field in _fields(model, tensor.start, tensor.end):
        if field.number == _KIND:
            kind = _number(model, field.start)[0]
        elif field.number == _NAME:
            name = model[field.start : field.end]
    return name if kind == _UNSIGNED else b""


def _flipped(model: bytes, tensor: _Field) -> bytes:
    """Return the content of a tensor of unsigned bytes as signed ones."""
    kept, numbers = [], b""
    for field in _fields(model, tensor.start, tensor.end):
        if field.number == _RAW:
            numbers += model[field.start : field.end]
        elif field.number == _NUMBERS and field.wire == _BYTES:
            numbers += bytes(_packed(model[field.start : field.end]))
        elif field.number == _NUMBERS:
            numbers += bytes([_number(model, field.start)[0]])
        elif field.number != _KIND:
            kept.append(model[field.tag : field.end])
    kind = _varint(_KIND << 3) + _varint(_SIGNED)
    return b"".join((*kept, kind, _as_bytes(_RAW, numbers.translate(_FLIPPED))))


def _packed(content: bytes) -> Iterator[int]:
    place = 0
    while place < len(content):
        number, place = _number(content, place)
        yield number


def _fields(content: bytes, place: int, end: int) -> Iterator[_Field]:
    """Yield the fields of a message. Raises ``ValueError`` if it is none."""
    while place < end:
        tag = place
        key, place = _number(content, place)
        wire = key & 7
        if wire == _VARINT:
            start, (_, place) = place, _number(content, place)
        elif wire == _BYTES:
            size, start = _number(content, place)
            place = start + size
        elif wire in {_FIXED_64, _FIXED_32}:
            start, place = place, place + (8 if wire == _FIXED_64 else 4)
        else:
            raise ValueError("no message")
        if place > end:
            raise ValueError("no message")
        yield _Field(key >> 3, wire, tag, start, place)


def _number(content: bytes, place: int) -> tuple[int, int]:
    """Return a number of variable length, and the place after it."""
    value = shift = 0
    while True:
        byte = content[place]
        place += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, place
        shift += 7


def _as_bytes(field: int, content: bytes) -> bytes:
    return _varint(field << 3 | _BYTES) + _varint(len(content)) + content


def _varint(value: int) -> bytes:
    parts = []
    while value > 127:
        parts.append(value & 127 | 128)
        value >>= 7
    return bytes([*parts, value])
