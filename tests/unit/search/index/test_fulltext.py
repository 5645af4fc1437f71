"""The full text index finds what was committed, by many readers beside one writer, and says when it is damaged."""

import os
import random
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from promptuary.base.errors import IndexDamagedError, PromptuaryError
from promptuary.search.index.document import Document
from promptuary.search.index.fulltext import files
from promptuary.search.index.fulltext.index import TantivyIndex
from promptuary.search.query import parse
from tests.conftest import Figure


def document(number: int, text: str, *, file: int = 1, path: str = "x", trail: tuple[str, ...] = ()) -> Document:
    return Document(number, file, path, trail, text)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "lexical"


@pytest.fixture
def index(folder: Path) -> Iterator[TantivyIndex]:
    made = TantivyIndex(folder, writing=True)
    yield made
    made.close()


def filled(index: TantivyIndex, *documents: Document) -> TantivyIndex:
    index.write(documents, ())
    index.commit()
    return index


def found(index: TantivyIndex, question: str, *, files: set[int] | None = None) -> list[int]:
    return [number for number, _ in index.search(parse(question), 10, files=files)]


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("running", "he runs"),
        ("cafe", "Café"),
        ("Café", "cafe\u0301"),
        ("user", "def getUserName():"),
        ("getusername", "def getUserName():"),
        ("getUserName", "get_user_name = 1"),
        ("get_user_name", "getUserName()"),
        ("server", "class HTTPServer2Error"),
        ("case", "snake_case"),
        ("本語", "これは日本語です"),
        ("日", "これは日本語です"),
        ("Python", "使用Python编程"),
        ("編程", "使用 編程"),
        ("กา", "ก่า"),
        ("हिन्दी", "यह हिन्दी है"),
        ("file", "ﬁle"),
        ("conf*", "the configuration"),
        ("configurat*", "the configuration"),
        ("Conf*", "CONFIG"),
        ("日本*", "日本語"),
        ("snake_ca*", "snake_cases"),
        ('"brown fox"', "a quick brown fox"),
        ('"日本語"', "これは日本語です"),
        ('"fox"', "a fox"),
        (f'"a {"x" * 70} b"', f"a {'x' * 70} b"),
        ("the", "the"),
    ],
)
def test_a_text_is_found(index: TantivyIndex, question: str, text: str) -> None:
    filled(index, document(1, text), document(2, "something else entirely"))

    assert found(index, question) == [1]


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ('"brown fox"', "fox brown"),
        ('"brown fox" jumps', "jumps brown, and a fox"),
        ('"日本語"', "日本と語"),
        ('"日本語"', "日本。語"),
        ('"user name"', "user. getOther of name"),
        ("conf*", "preconfigured"),
        ("", "text"),
        ("!!", "text"),
        ("a.*", "bcd"),
    ],
)
def test_a_text_is_not_found(index: TantivyIndex, question: str, text: str) -> None:
    assert found(filled(index, document(1, text)), question) == []


def test_words_of_headings_and_paths_count_but_less_than_those_of_the_text(index: TantivyIndex) -> None:
    filled(
        index,
        document(1, "nothing to see here", path="docs/zebra.md"),
        document(2, "nothing to see here", trail=("Zebra",)),
        document(3, "nothing to zebra here"),
        document(4, "nothing to see here"),
    )

    assert sorted(found(index, "zebra")) == [1, 2, 3]
    assert found(index, "zebra")[0] == 3
    assert found(index, '"docs zebra"') == [1]


def test_words_that_stand_together_count_more(index: TantivyIndex) -> None:
    filled(index, document(1, "case of a snake"), document(2, "of a snake_case"))

    assert found(index, "snake_case") == [2, 1]


def test_only_chunks_of_the_files_are_found(index: TantivyIndex) -> None:
    filled(index, *(document(number, "word", file=number % 3) for number in range(1, 10)))

    assert found(index, "word", files={1}) == [1, 4, 7]
    assert found(index, "word", files={1, 2}) == [1, 2, 4, 5, 7, 8]
    assert found(index, "word", files=set(range(1, 200_000))) == [1, 2, 4, 5, 7, 8]
    assert found(index, "word", files=set()) == []
    assert found(index, "nothing", files={1}) == []


def test_a_chunk_is_replaced_by_one_of_the_same_number_even_before_a_commit(index: TantivyIndex) -> None:
    filled(index, document(1, "old"), document(2, "old"))
    index.write([document(1, "new"), document(3, "first"), document(3, "second")], [2])

    assert found(index, "old") == [1, 2]
    index.commit()
    assert found(index, "old") == []
    assert found(index, "new") == [1]
    assert found(index, "first") == []
    assert found(index, "second") == [3]


def test_a_chunk_is_replaced_by_a_writer_that_was_opened_later(folder: Path) -> None:
    first = TantivyIndex(folder, writing=True)
    filled(first, document(5, "old"))
    first.close()
    second = TantivyIndex(folder, writing=True)
    filled(second, document(5, "new"))

    assert (found(second, "old"), found(second, "new")) == ([], [5])
    second.close()


def test_what_is_verified_once_is_not_read_again_by_who_is_told_so(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = filled(TantivyIndex(folder, writing=True), document(1, "word"))
    found(first, "word")
    first.close()
    read: list[str] = []
    verify_file = files._verify_file

    def noting(folder: Path, name: str, documents: int) -> None:
        read.append(name)
        verify_file(folder, name, documents)

    monkeypatch.setattr(files, "_verify_file", noting)

    second = TantivyIndex(folder, writing=True, verified=first.verified)
    assert (found(second, "word"), read) == ([1], [])
    filled(second, document(2, "word"))
    assert found(second, "word") == [1, 2]
    assert set(read) == second.verified - first.verified != set()
    second.close()


def test_what_was_not_committed_is_never_seen(folder: Path) -> None:
    program = (
        "import os, sys, pathlib\n"
        "from promptuary.search.index.document import Document\n"
        "from promptuary.search.index.fulltext.index import TantivyIndex\n"
        "index = TantivyIndex(pathlib.Path(sys.argv[1]), writing=True)\n"
        "index.write([Document(1, 1, 'x', (), 'committed')], ()); index.commit()\n"
        "index.write([Document(2, 1, 'x', (), 'lost')], [1]); os._exit(9)\n"
    )
    assert subprocess.run([sys.executable, "-c", program, str(folder)], check=False).returncode == 9

    index = TantivyIndex(folder, writing=True)
    assert (found(index, "committed"), found(index, "lost")) == ([1], [])
    filled(index, document(3, "later"))
    assert found(index, "later") == [3]
    index.close()


def test_there_is_one_writer(folder: Path, index: TantivyIndex) -> None:
    filled(index, document(1, "word"))
    other = TantivyIndex(folder, writing=True)

    with pytest.raises(PromptuaryError, match="Another process is writing"):
        other.write([document(2, "word")], ())
    assert found(other, "word") == [1]
    index.close()
    filled(other, document(2, "word"))
    assert found(other, "word") == [1, 2]
    other.close()


def test_a_reader_sees_commits_and_needs_no_index_to_begin_with(folder: Path) -> None:
    reader = TantivyIndex(folder, writing=False)
    assert found(reader, "word") == []
    writer = TantivyIndex(folder, writing=True)
    assert found(reader, "word") == []
    for number in range(1, 4):
        filled(writer, document(number, "word"))
        assert found(reader, "word") == list(range(1, number + 1))
    with pytest.raises(PromptuaryError, match="read-only"):
        reader.write([], ())
    reader.commit()
    writer.close()


def test_who_reads_an_index_that_is_removed_goes_on(folder: Path) -> None:
    writer = filled(TantivyIndex(folder, writing=True), document(1, "word"))
    writer.close()
    reader = TantivyIndex(folder, writing=False)
    (folder / "meta.json").unlink()
    assert found(reader, "word") == [1]
    shutil.rmtree(folder)

    assert found(reader, "word") == [1]


def test_a_closed_index_says_so(index: TantivyIndex) -> None:
    index.close()
    index.close()

    for use in (lambda: index.search(parse("word"), 1), lambda: index.write([], ()), index.commit):
        with pytest.raises(PromptuaryError, match="closed"):
            use()


def test_no_limit_is_too_small_or_too_large(index: TantivyIndex) -> None:
    filled(index, document(1, "word"))

    assert [len(index.search(parse("word"), limit)) for limit in (-1, 0, 1, 10**12)] == [0, 0, 1, 1]


def test_threads_may_search_while_another_writes(index: TantivyIndex) -> None:
    filled(index, document(0, "word"))
    errors: list[BaseException] = []
    done = threading.Event()

    def search() -> None:
        try:
            while not done.is_set():
                assert found(index, "word")[0] == 0
        except BaseException as error:  # noqa: BLE001  (whatever it is, the test must hear of it)
            errors.append(error)

    threads = [threading.Thread(target=search) for _ in range(4)]
    for thread in threads:
        thread.start()
    for number in range(1, 40):
        filled(index, document(number, "word"))
    done.set()
    for thread in threads:
        thread.join()
    assert errors == []


@pytest.mark.torture
def test_processes_may_search_while_another_commits_and_merges(folder: Path, figure: Figure) -> None:
    program = (
        "import sys, pathlib\n"
        "from promptuary.search.query import parse\n"
        "from promptuary.search.index.fulltext.index import TantivyIndex\n"
        "index = TantivyIndex(pathlib.Path(sys.argv[1]), writing=False)\n"
        "last = count = 0\n"
        "while last < int(sys.argv[2]):\n"
        "    hits = index.search(parse('word'), 100000)\n"
        "    assert len(hits) >= last, (len(hits), last)\n"
        "    last = len(hits); count += 1\n"
        "print(count)\n"
    )
    commits = figure(60, 1500)
    writer = TantivyIndex(folder, writing=True)
    readers = [
        subprocess.Popen([sys.executable, "-c", program, str(folder), str(commits)], stdout=subprocess.PIPE)
        for _ in range(2)
    ]
    for number in range(commits):
        writer.write([document(number, "word")], [number] if number % 3 else ())
        writer.commit()
    outputs = [reader.communicate(timeout=100)[0] for reader in readers]
    writer.close()

    assert [reader.returncode for reader in readers] == [0, 0]
    assert all(int(output) > 0 for output in outputs)


QUESTIONS = ["alpha", "beta gamma", '"alpha beta"', "de*", "rare7", "src"]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("whole") / "lexical"
    index = TantivyIndex(folder, writing=True)
    for part in range(3):
        numbers = range(part * 50, part * 50 + 50)
        texts = ["alpha beta", "gamma delta", "beta alpha gamma", "delta"]
        index.write([document(one, f"{texts[one % 4]} rare{one}", path="src/x.py") for one in numbers], [part * 50 - 1])
        index.commit()
    index.close()
    return folder


def answers(folder: Path, *, writing: bool) -> list[list[tuple[int, float]]]:
    index = TantivyIndex(folder, writing=writing)
    try:
        return [list(index.search(parse(question), 200)) for question in QUESTIONS]
    finally:
        index.close()


def harm(folder: Path, chance: random.Random) -> None:
    path = chance.choice(sorted(path for path in folder.iterdir() if path.stat().st_size))
    content = bytearray(path.read_bytes())
    match chance.randrange(6):
        case 0:
            path.unlink()
            return
        case 1:
            del content[chance.randrange(len(content)) :]
        case 2:
            content += chance.randbytes(chance.randrange(1, 50))
        case 3:
            content = bytearray(chance.randbytes(len(content)))
        case _:
            content[chance.randrange(len(content))] ^= 1 << chance.randrange(8)
    path.write_bytes(content)


@pytest.mark.torture
def test_a_damaged_index_answers_rightly_or_says_that_it_is_damaged(
    whole: Path, tmp_path: Path, figure: Figure, capfd: pytest.CaptureFixture[str]
) -> None:
    right = answers(whole, writing=False)
    assert all(right)
    told = 0
    for seed in range(figure(150, 5000)):
        folder = tmp_path / "damaged"
        shutil.copytree(whole, folder)
        harm(folder, random.Random(seed))
        try:
            assert answers(folder, writing=seed % 2 == 0) == right, seed
        except IndexDamagedError:
            told += 1
        shutil.rmtree(folder)

    assert told
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize("writing", [True, False])
@pytest.mark.parametrize("content", [b"", b"{}", b"[]", b'{"segments": [1]}', b"\xff", b"[" * 100_000])
def test_what_is_no_index_is_damage(folder: Path, content: bytes, writing: bool) -> None:
    folder.mkdir()
    (folder / "meta.json").write_bytes(content)

    with pytest.raises(IndexDamagedError, match="damaged"):
        TantivyIndex(folder, writing=writing)


@pytest.mark.skipif(os.getuid() == 0, reason="root may write anywhere")
def test_a_folder_that_may_not_be_written_is_not_damage(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    try:
        with pytest.raises(PromptuaryError, match="permissions"):
            TantivyIndex(tmp_path / "lexical", writing=True)
    finally:
        tmp_path.chmod(0o700)
