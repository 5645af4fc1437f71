"""8-bit weights become signed where that is faster, and a model computes the same with them."""

import importlib.util
from collections.abc import Sequence

import pytest

from promptuary.base.concurrency import load_native
from promptuary.models.signed_weights import with_signed_weights
from tests import onnx_models as onnx

UINT8, INT32 = 2, 6
WEIGHTS = (131, 120, 128, 140, 127, 99, 160, 128, 130, 111, 129, 126)

needed = pytest.mark.skipif(importlib.util.find_spec("onnxruntime") is None, reason="needs the extra embeddings")


def unsigned(name: str, shape: Sequence[int], values: Sequence[int], *, stored: str = "raw") -> bytes:
    head = [onnx._number(1, size) for size in shape] + [onnx._number(2, UINT8)]
    if stored == "raw":
        numbers = [onnx._bytes(9, bytes(values))]
    elif stored == "packed":
        numbers = [onnx._bytes(5, b"".join(map(onnx._varint, values)))]
    else:
        numbers = [onnx._number(5, value) for value in values]
    return b"".join((*head, *numbers, onnx._text(8, name)))


def model(*, stored: str = "raw", shared: bool = False) -> bytes:
    """Return a model that multiplies four numbers by unsigned weights."""
    nodes = [
        onnx._node("DynamicQuantizeLinear", ["x"], ["xq", "scale", "xzero"]),
        onnx._node("MatMulInteger", ["xq", "w", "xzero", "wzero"], ["y"]),
    ]
    outputs = [onnx._value("y", INT32, [1, 3])]
    if shared:
        nodes.append(onnx._node("Cast", ["w"], ["z"], to=INT32))
        outputs.append(onnx._value("z", INT32, [4, 3]))
    tensors = [unsigned("w", [4, 3], WEIGHTS, stored=stored), unsigned("wzero", [], [128], stored=stored)]
    return onnx._model(nodes, tensors, [onnx._value("x", onnx.FLOAT, [1, 4])], outputs)


def result(content: bytes) -> list[list[int]]:
    import numpy as np

    session = load_native("onnxruntime").InferenceSession(content, providers=["CPUExecutionProvider"])
    numbers = np.array([[0.5, -1.25, 2.0, 0.125]], np.float32)
    found: list[list[int]] = session.run(["y"], {"x": numbers})[0].tolist()
    return found


@needed
@pytest.mark.parametrize("stored", ["raw", "packed", "one by one"])
def test_a_model_computes_the_same_with_signed_weights(stored: str) -> None:
    before = model(stored=stored)
    after = with_signed_weights(before)
    assert bytes(value ^ 128 for value in WEIGHTS) in after
    assert result(after) == result(before)


def test_weights_that_something_else_reads_too_stay_as_they_are() -> None:
    assert with_signed_weights(model(shared=True)) == model(shared=True)


@pytest.mark.parametrize("content", [b"", b"\x00", b"\xff" * 40, b"\x3a\xff\xff\x03short", onnx.embedder_weights()])
def test_what_has_no_such_weights_stays_as_it_is(content: bytes) -> None:
    assert with_signed_weights(content) == content


@pytest.mark.parametrize("cut", range(1, 60, 7))
def test_a_model_that_was_cut_is_left_to_the_library(cut: int) -> None:
    assert with_signed_weights(model()[:-cut])
