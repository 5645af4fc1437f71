"""A folder with a model embeds as its own files say; what cannot be used is refused with a reason."""

import math
import shutil
import struct
from collections.abc import Sequence
from pathlib import Path

import pytest

pytest.importorskip("onnxruntime")

from promptuary.base.errors import ConfigError, PromptuaryError
from promptuary.models import minilm
from promptuary.models.minilm import MiniLM
from promptuary.models.onnx_folder import choose_weights, open_embedder, read_folder
from promptuary.models.protocols import Embedder
from tests.onnx_models import INT32, TABLE, WORDS, embedder_weights, table_bytes, write_folder

MEAN = {"pooling_mode_cls_token": False, "pooling_mode_mean_tokens": True}


def opened(folder: Path) -> Embedder:
    return open_embedder(folder, cache=None, threads=1)


def vector(embedder: Embedder, text: str, purpose: str = "passage") -> Sequence[float]:
    (packed,) = embedder.embed([text], "query" if purpose == "query" else "passage")
    return struct.unpack("<3f", packed)


def rows(*words: str) -> list[tuple[float, ...]]:
    return [TABLE[WORDS.index(word)] for word in words]


def unit(numbers: Sequence[float]) -> object:
    length = math.hypot(*numbers)
    return pytest.approx([number / length for number in numbers], abs=1e-6)


def mean(*words: str) -> object:
    return unit([sum(column) for column in zip(*rows(*words), strict=True)])


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        (MEAN, mean("[CLS]", "alpha", "beta", "[SEP]")),
        ({"pooling_mode_cls_token": True}, unit(TABLE[2])),
        ({"pooling_mode_max_tokens": True}, unit([3.0, 4.0, 1.0])),
        ({"pooling_mode_lasttoken": True}, unit(TABLE[3])),
        ({"pooling_mode_mean_sqrt_len_tokens": True}, mean("[CLS]", "alpha", "beta", "[SEP]")),
        ({"pooling_mode": "cls"}, unit(TABLE[2])),
    ],
)
def test_pooling_is_that_of_the_folder(tmp_path: Path, config: object, expected: object) -> None:
    folder = write_folder(tmp_path, {"model.onnx": embedder_weights(), "1_Pooling/config.json": config})

    assert vector(opened(folder), "alpha beta") == expected


def test_without_a_word_about_pooling_it_is_the_mean(tmp_path: Path) -> None:
    folder = write_folder(tmp_path, {"model.onnx": embedder_weights()})

    assert vector(opened(folder), "alpha beta") == mean("[CLS]", "alpha", "beta", "[SEP]")


def test_without_a_word_about_pooling_a_vector_of_the_model_itself_is_used(tmp_path: Path) -> None:
    folder = write_folder(tmp_path, {"model.onnx": embedder_weights(pooled="sentence_embedding")})

    assert vector(opened(folder), "alpha beta") == unit([3.0, 4.0, 1.0])


@pytest.mark.parametrize("inputs", [("input_ids",), ("input_ids", "attention_mask"), ("input_ids", "position_ids")])
def test_a_model_is_given_what_it_takes_and_no_more(tmp_path: Path, inputs: Sequence[str]) -> None:
    folder = write_folder(tmp_path, {"model.onnx": embedder_weights(inputs=inputs, kind=INT32)})

    assert vector(opened(folder), "alpha") == mean("[CLS]", "alpha", "[SEP]")


def test_a_model_that_takes_something_else_is_refused(tmp_path: Path) -> None:
    folder = write_folder(tmp_path, {"model.onnx": embedder_weights(inputs=("input_ids", "pixel_values"))})

    with pytest.raises(PromptuaryError, match="the model takes input_ids, pixel_values"):
        vector(opened(folder), "alpha")


def test_questions_and_passages_have_the_prefixes_of_the_folder(tmp_path: Path) -> None:
    prompts = {"prompts": {"query": "query: ", "document": ""}}
    folder = write_folder(tmp_path, {"model.onnx": embedder_weights(), "config_sentence_transformers.json": prompts})
    embedder = opened(folder)

    assert vector(embedder, "alpha", "query") == mean("[CLS]", "query", ":", "alpha", "[SEP]")
    assert vector(embedder, "alpha", "passage") == mean("[CLS]", "alpha", "[SEP]")


def test_a_prefix_is_tokenized_as_if_it_stood_in_the_text(tmp_path: Path) -> None:
    """Many vocabularies have other pieces for a word behind a blank."""
    vocabulary = {"[UNK]": 1, "alpha": 4, "\u2581alpha": 5, "query:": 8}
    tokenizer = {
        "version": "1.0",
        "added_tokens": [],
        "pre_tokenizer": {"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": "never", "split": True},
        "model": {"type": "WordLevel", "vocab": vocabulary, "unk_token": "[UNK]"},
    }
    settings = {"prefixes": {"query": "query: "}}
    files = {"model.onnx": embedder_weights(), "tokenizer.json": tokenizer, "promptuary.json": settings}
    embedder = opened(write_folder(tmp_path, files))

    assert vector(embedder, "alpha", "passage") == unit(TABLE[4])
    assert vector(embedder, "alpha", "query") == unit([a + b for a, b in zip(TABLE[8], TABLE[5], strict=True)])


def test_a_file_of_ours_in_the_folder_comes_before_all_others(tmp_path: Path) -> None:
    files = {
        "model.onnx": b"nothing",
        "onnx/other.onnx": embedder_weights(),
        "1_Pooling/config.json": MEAN,
        "promptuary.json": {
            "pooling": "cls",
            "window": 32,
            "weights": "onnx/other.onnx",
            "prefixes": {"passage": "beta "},
        },
    }
    folder = read_folder(write_folder(tmp_path, files), cache=None)

    assert (folder.weights, folder.recipe.pooling, folder.recipe.window) == ("onnx/other.onnx", "cls", 32)
    assert folder.recipe.prefixes == {"passage": "beta "}
    assert vector(opened(tmp_path), "alpha") == unit(TABLE[2])


def test_a_long_text_is_the_mean_of_its_windows_each_with_its_prefix(tmp_path: Path) -> None:
    settings = {"window": 16, "pooling": "mean", "prefixes": {"passage": "query: "}}
    folder = write_folder(tmp_path, {"model.onnx": embedder_weights(), "promptuary.json": settings})
    # Room for twelve words in each of 128 windows: two windows of ten.
    halves = [["[CLS]", "query", ":", *[word] * 10, "[SEP]"] for word in ("alpha", "beta")]
    sums = [[sum(column) for column in zip(*rows(*half), strict=True)] for half in halves]
    units = [[number / math.hypot(*one) for number in one] for one in sums]

    assert vector(opened(folder), "alpha " * 10 + "beta " * 10) == unit([a + b for a, b in zip(*units, strict=True)])


@pytest.mark.parametrize(
    ("files", "window"),
    [
        ({}, 512),
        ({"config.json": {"max_position_embeddings": 512}, "sentence_bert_config.json": {"max_seq_length": 128}}, 128),
        ({"config.json": {"max_position_embeddings": 514, "model_type": "xlm-roberta"}}, 512),
        ({"config.json": {"max_position_embeddings": 8192}}, 2048),
        ({"tokenizer_config.json": {"model_max_length": 10**30}}, 512),
        ({"tokenizer_config.json": {"model_max_length": 256}}, 256),
        ({"sentence_bert_config.json": {"max_seq_length": -4}}, 512),
        ({"sentence_bert_config.json": {"max_seq_length": 2}}, 16),
    ],
)
def test_the_window_is_the_shortest_that_a_file_names(tmp_path: Path, files: dict[str, object], window: int) -> None:
    folder = write_folder(tmp_path, {"model.onnx": embedder_weights(), **files})

    assert read_folder(folder, cache=None).recipe.window == window


@pytest.mark.parametrize(
    ("names", "chosen"),
    [
        (["model.onnx"], "model.onnx"),
        (["onnx/model.onnx", "onnx/model_fp16.onnx", "onnx/model_quantized.onnx"], "onnx/model_quantized.onnx"),
        (["onnx/model.onnx", "onnx/model_q4.onnx", "onnx/model_int8.onnx"], "onnx/model_int8.onnx"),
        (["onnx/model.onnx", "onnx/model_O4.onnx", "onnx/model_bnb4.onnx"], "onnx/model.onnx"),
        (["model_optimized.onnx", "readme.md"], "model_optimized.onnx"),
        (["../model.onnx", "a/b/model.onnx", "model.bin"], ""),
        (["onnx/model_fp16.onnx"], "onnx/model_fp16.onnx"),
        (["model_fp16.onnx", "weights.onnx", "model_q4f16.onnx"], "weights.onnx"),
    ],
)
def test_of_several_weights_the_8_bit_ones_are_used_and_else_the_plain_ones(names: list[str], chosen: str) -> None:
    assert choose_weights(names) == choose_weights(names[::-1]) == chosen


def test_the_weights_may_be_named_themselves(tmp_path: Path) -> None:
    write_folder(tmp_path, {"onnx/model.onnx": embedder_weights(), "onnx/model_quantized.onnx": b"not these"})

    assert vector(opened(tmp_path / "onnx/model.onnx"), "alpha") == mean("[CLS]", "alpha", "[SEP]")


def test_weights_in_two_files_are_used_and_both_decide_about_the_id(tmp_path: Path) -> None:
    files = {"onnx/model.onnx": embedder_weights(external="model.onnx_data"), "onnx/model.onnx_data": table_bytes()}
    folder = write_folder(tmp_path, files)
    before = opened(folder)
    assert vector(before, "alpha") == mean("[CLS]", "alpha", "[SEP]")
    (folder / "onnx/model.onnx_data").write_bytes(table_bytes()[::-1])

    assert opened(folder).id != before.id


@pytest.mark.parametrize(
    "change",
    [
        {"model.onnx": embedder_weights(pooled="other")},
        {"1_Pooling/config.json": {"pooling_mode_cls_token": True}},
        {"sentence_bert_config.json": {"max_seq_length": 64}},
        {"sentence_bert_config.json": {"do_lower_case": True}},
        {"config_sentence_transformers.json": {"prompts": {"query": "find: "}}},
        {"tokenizer.json": "{}"},
    ],
)
def test_the_id_changes_with_everything_that_decides_about_vectors(tmp_path: Path, change: dict[str, object]) -> None:
    folder = write_folder(tmp_path / "one", {"model.onnx": embedder_weights()})
    before = opened(folder).id
    moved = shutil.copytree(folder, tmp_path / "elsewhere")
    assert opened(moved).id == before

    assert (
        opened(write_folder(moved, {"tokenizer.json": (folder / "tokenizer.json").read_text(), **change})).id != before
    )


def test_hashes_are_remembered_until_a_file_changes(tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "model", {"model.onnx": embedder_weights()})
    cache = tmp_path / "cache"
    first = read_folder(folder, cache=cache)
    (cache / "hashes.json").write_text((cache / "hashes.json").read_text().replace(first.hashes["model.onnx"], "seen"))
    assert read_folder(folder, cache=cache).hashes["model.onnx"] == "seen"
    (folder / "model.onnx").write_bytes(embedder_weights(pooled="other"))
    assert len(read_folder(folder, cache=cache).hashes["model.onnx"]) == 64
    (cache / "hashes.json").write_text("[broken")
    assert len(read_folder(folder, cache=cache).hashes["model.onnx"]) == 64


@pytest.mark.parametrize(
    ("files", "reason"),
    [
        ({}, "has no weights in the ONNX format"),
        ({"model.onnx": b"x", "config.json": "{"}, "config.json is not valid JSON"),
        ({"model.onnx": b"x", "config.json": "[" * 100_000}, "config.json is not valid JSON"),
        ({"model.onnx": b"x", "config.json": " " * 2_000_000}, "config.json is too large"),
        ({"model.onnx": b"x", "modules.json": [{"type": "sentence_transformers.models.Dense"}]}, "cannot run: Dense"),
        ({"model.onnx": b"x", "1_Pooling/config.json": {"pooling_mode_weightedmean_tokens": True}}, "weightedmean"),
        ({"model.onnx": b"x", "1_Pooling/config.json": {**MEAN, "pooling_mode_cls_token": True}}, "pools in a way"),
        ({"model.onnx": b"x", "promptuary.json": {"pooling": "sum"}}, "must be one of mean, cls, max, last, none"),
        ({"promptuary.json": {"weights": "../../secret.onnx"}}, "has no weights in the ONNX format"),
    ],
)
def test_what_cannot_be_used_is_refused_with_a_reason(tmp_path: Path, files: dict[str, object], reason: str) -> None:
    with pytest.raises(ConfigError, match=reason):
        opened(write_folder(tmp_path, files))


def test_a_folder_without_a_tokenizer_or_none_at_all_is_refused(tmp_path: Path) -> None:
    (tmp_path / "model.onnx").write_bytes(embedder_weights())

    with pytest.raises(ConfigError, match=r"has no tokenizer\.json"):
        opened(tmp_path)
    with pytest.raises(ConfigError, match="is not a folder with a model"):
        opened(tmp_path / "nothing")


@pytest.mark.parametrize(
    ("files", "reason"),
    [
        ({"model.onnx": b"no model"}, "onnxruntime cannot load"),
        ({"model.onnx": embedder_weights(), "tokenizer.json": "no json"}, "cannot be used"),
    ],
)
def test_files_that_cannot_be_loaded_are_an_error_that_says_which(
    tmp_path: Path, files: dict[str, object], reason: str
) -> None:
    with pytest.raises(PromptuaryError, match=reason):
        vector(opened(write_folder(tmp_path, files)), "alpha")


def test_a_vector_that_is_none_is_an_error(tmp_path: Path) -> None:
    folder = write_folder(tmp_path, {"model.onnx": embedder_weights(), "promptuary.json": {"pooling": "cls"}})
    broken = embedder_weights().replace(struct.pack("<3f", *TABLE[2]), struct.pack("<3f", 0, float("nan"), 0))
    (folder / "model.onnx").write_bytes(broken)

    with pytest.raises(PromptuaryError, match="not finite"):
        vector(opened(folder), "alpha")


def test_a_file_that_changes_after_the_folder_was_opened_is_not_used(tmp_path: Path) -> None:
    folder = write_folder(tmp_path, {"model.onnx": embedder_weights()})
    embedder = opened(folder)
    (folder / "model.onnx").write_bytes(embedder_weights(pooled="other"))

    with pytest.raises(ConfigError, match="has changed while it was in use"):
        vector(embedder, "alpha")


@pytest.mark.skipif(not minilm.available(), reason="the extra is not installed")
def test_the_small_model_as_a_folder_gives_the_same_vectors(tmp_path: Path) -> None:
    source = minilm._installed()
    for name in ("model_quantized.onnx", "tokenizer.json"):
        shutil.copy(source / name, tmp_path)
    texts = ["how do I open a file", "word " * 100]

    assert opened(tmp_path).embed(texts, "passage") == MiniLM(threads=1).embed(texts, "passage")
