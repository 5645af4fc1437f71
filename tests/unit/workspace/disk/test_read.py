import hashlib
import os
import threading
import time
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from promptuary.base.errors import Code, SourceError
from promptuary.workspace.access import Access
from promptuary.workspace.disk.read import TextFile, decode, read_text
from promptuary.workspace.disk.root import Root
from tests.conftest import Files

POLICY = Access()
MARKS = {
    "utf-8": b"\xef\xbb\xbf",
    "utf-16-le": b"\xff\xfe",
    "utf-16-be": b"\xfe\xff",
    "utf-32-le": b"\xff\xfe\x00\x00",
    "utf-32-be": b"\x00\x00\xfe\xff",
}
PROSE = {
    "cp1252": "Les élèves étudiaient la leçon à l'école, où il pleuvait déjà.\n",
    "cp1250": "Příliš žluťoučký kůň úpěl ďábelské ódy\n",
    "cp1251": "Съешь же ещё этих мягких французских булок\n",
    "koi8-r": "Съешь же ещё этих мягких французских булок\n",
    "cp932": "これは日本語の文章です。設定ファイルを読み込みます。\n",
    "euc_jp": "これは日本語の文章です。設定ファイルを読み込みます。\n",
    "gb18030": "这是一个测试文件，用于检查编码。\n",
    "big5": "繁體中文的測試檔案，用來檢查編碼。\n",
    "cp949": "한국어 문장입니다. 설정 파일을 읽습니다.\n",
    "cp1253": "Ξεσκεπάζω την ψυχοφθόρα βδελυγμία\n",
}


def read(path: Path, name: str, policy: Access = POLICY) -> TextFile:
    with Root(path) as root:
        return read_text(root, name, policy)


def refusal(path: Path, name: str, policy: Access = POLICY) -> SourceError:
    with pytest.raises(SourceError) as caught:
        read(path, name, policy)
    return caught.value


def test_a_file_comes_with_what_identifies_it(files: Files) -> None:
    path = files({"src/app.py": "naïve = 1\r\n"})
    os.utime(path / "src/app.py", ns=(1, 1_700_000_000_123_456_789))

    raw = "naïve = 1\r\n".encode()
    assert read(path, "./src/app.py") == TextFile(
        path="src/app.py",
        text="naïve = 1\r\n",
        size=len(raw),
        sha256=hashlib.sha256(raw).hexdigest(),
        encoding="utf-8",
        modified=1_700_000_000_123_456_789,
    )


def test_an_empty_file_is_text(files: Files) -> None:
    assert read(files({"__init__.py": b""}), "__init__.py").text == ""


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("../x.md", Code.PATH_TRAVERSAL),
        ("/etc/hostname", Code.ABSOLUTE_PATH),
        ("a\0.md", Code.BAD_NAME),
        (".env", Code.SENSITIVE_PATH),
        ("a.png", Code.DISALLOWED_EXTENSION),
        ("gone.png", Code.NOT_FOUND),
        ("gone.md", Code.NOT_FOUND),
        ("link.md", Code.SYMLINK),
        ("src", Code.NOT_A_FILE),
        ("", Code.NOT_A_FILE),
        ("text.png.md", Code.BINARY),
    ],
)
def test_each_refusal_has_its_code_and_a_sentence(files: Files, name: str, code: Code) -> None:
    path = files({"src/a.md": "", "a.png": b"", "text.png.md": b"\x89PNG\r\n\x1a\n\x00"})
    (path / "link.md").symlink_to("src/a.md")

    error = refusal(path, name)

    assert error.code is code
    assert error.reason.endswith(".")
    assert str(path) not in error.reason


def test_a_secret_is_refused_whether_it_exists_or_not(files: Files) -> None:
    path = files({"a/.env": "K=1"})

    assert refusal(path, "a/.env").reason == refusal(path, "b/.env").reason.replace("b/", "a/")


def test_a_folder_is_pointed_to_its_own_kind(files: Files) -> None:
    assert "@folder:" in refusal(files({"src/a.md": ""}), "src").reason


def test_a_file_up_to_the_limit_is_read_and_one_byte_more_is_not(files: Files) -> None:
    path = files({"fits.md": "x" * 2048, "over.md": "x" * 2049})
    policy = Access(max_bytes=2048)

    assert read(path, "fits.md", policy).size == 2048
    error = refusal(path, "over.md", policy)
    assert error.code is Code.FILE_TOO_LARGE
    assert "is 2.0 kB" in error.reason
    assert "up to 2,048 bytes, and it has more" in error.reason
    assert "max_file_size" in error.reason


def test_a_harmless_link_to_a_secret_is_refused_when_links_are_followed(files: Files) -> None:
    path = files({".env": "KEY=1", "real.md": "fine", ".ssh/config": "x"})
    for name, target in {"notes.md": ".env", "ok.md": "real.md", "docs": ".ssh", "png.md": "a.png"}.items():
        (path / name).symlink_to(target)
    (path / "a.png").write_text("text")
    with Root(path, follow_symlinks=True) as root:
        assert read_text(root, "ok.md", POLICY).text == "fine"
        for name, code in {
            "notes.md": Code.SENSITIVE_PATH,
            "docs/config": Code.SENSITIVE_PATH,
            "png.md": Code.DISALLOWED_EXTENSION,
        }.items():
            with pytest.raises(SourceError) as caught:
                read_text(root, name, POLICY)
            assert caught.value.code is code


@pytest.mark.parametrize(("rewrites", "outcome"), [(1, "b" * 9_000), (100, Code.READ_FAILED)])
def test_a_file_that_is_rewritten_during_the_read_is_read_anew_though_its_size_is_the_same(
    files: Files, monkeypatch: pytest.MonkeyPatch, rewrites: int, outcome: object
) -> None:
    path = files({"a.md": "a" * 9_000}) / "a.md"
    os.utime(path, ns=(1, 1))
    inode, real, left = path.stat().st_ino, os.read, [rewrites]

    def rewritten(fd: int, size: int) -> bytes:
        data = real(fd, size)
        if left[0] and os.fstat(fd).st_ino == inode:
            left[0] -= 1
            path.write_text("b" * 9_000)
            os.utime(path, ns=(1, 10 + left[0]))
        return data

    monkeypatch.setattr(os, "read", rewritten)
    try:
        found: object = read(path.parent, "a.md").text
    except SourceError as error:
        found = error.code

    assert found == outcome


def test_a_file_that_does_not_stand_still_is_not_passed_off_as_whole(files: Files) -> None:
    # Of eight bytes, so that none crosses a page: such a write is two for whoever reads between them.
    line = "a line.\n"
    path = files({"log.md": line * 50_000})
    policy = Access(max_bytes=1 << 30)
    stop = threading.Event()

    def append() -> None:
        with (path / "log.md").open("ab", buffering=0) as file:
            while not stop.is_set():
                file.write(line.encode())

    writer = threading.Thread(target=append)
    writer.start()
    codes: list[Code] = []
    until = time.monotonic() + 20
    try:
        while len(codes) < 5 and time.monotonic() < until:
            try:
                assert not read(path, "log.md", policy).text.replace(line, "")
            except SourceError as error:
                codes.append(error.code)
    finally:
        stop.set()
        writer.join()

    if not codes:
        pytest.skip("the writer never came between two looks at the file")
    assert set(codes) == {Code.READ_FAILED}
    assert read(path, "log.md", policy).size == (path / "log.md").stat().st_size


text_without_nul = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]))


@pytest.mark.torture
@pytest.mark.parametrize("encoding", MARKS)
@given(text=text_without_nul)
@example(text="")
@example(text="\ufeffa")
def test_any_text_with_a_mark_comes_back(encoding: str, text: str) -> None:
    assert decode(MARKS[encoding] + text.encode(encoding), "a.md") == (text, encoding)


@pytest.mark.torture
@given(text_without_nul)
def test_any_utf_8_comes_back_without_a_mark(text: str) -> None:
    decoded, encoding = decode(text.encode(), "a.md")

    assert encoding == "utf-8"
    assert decoded == text.removeprefix("\ufeff")


@pytest.mark.torture
@given(st.binary(max_size=200) | st.binary(max_size=200).map(lambda data: b"\xff\xfe" + data))
def test_any_bytes_are_text_or_binary_and_nothing_else(data: bytes) -> None:
    try:
        text = decode(data, "a.md")[0]
    except SourceError as error:
        text = error.code

    assert text == Code.BINARY or "\0" not in text


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"])
@pytest.mark.parametrize("text", ["key = value\r\n", "名前 = 値\n设置 x\n", "Ünïcødé ✓ 😀\n", "a"])
def test_wide_text_is_recognised_without_a_mark(encoding: str, text: str) -> None:
    assert decode(text.encode(encoding), "a.reg") == (text, encoding)


@pytest.mark.parametrize("encoding", PROSE)
def test_text_in_an_older_encoding_is_recognised(encoding: str) -> None:
    text = "# config\n" + PROSE[encoding] * 20

    decoded, found = decode(text.encode(encoding), "a.md")

    assert decoded == text
    assert found != "utf-8"


@pytest.mark.parametrize("text", ["café\n", "x = 1  # naïve façade\n", "# Größe ändern\nx = 1\n"])
def test_a_single_accent_in_a_western_file_is_recognised(text: str) -> None:
    assert decode(text.encode("cp1252"), "a.py")[0] == text


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR", "a PNG image"),
        (b"\xff\xd8\xff\xe0\x00\x10JFIF", "a JPEG image"),
        (b"RIFF\x10\x00\x00\x00WEBPVP8 ", "a WebP image"),
        (b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n", "a PDF document"),
        (b"PK\x03\x04\x14\x00", "a ZIP archive"),
        (b"\x7fELF\x02\x01\x01\x00", "a compiled program"),
        (b"SQLite format 3\x00", "an SQLite database"),
        (b"\x1f\x8b\x08\x00\x00", "a gzip archive"),
        (b"text with a \x00 in it", "not text"),
        (bytes(range(1, 256)), "not text"),
        (b"caf\xe9 cr\xe8me \x01\x02 d\xe9j\xe0 vu", "not text"),
        (b"\x01\x00\x02\x00\x03\x00\x04\x00", "not text"),
        (b"\xff\xfe\x00\xd8", "not text"),
    ],
)
def test_what_is_no_text_is_named(data: bytes, kind: str) -> None:
    with pytest.raises(SourceError, match=kind) as caught:
        decode(data, "a.md")

    assert caught.value.code is Code.BINARY
    assert f"({len(data)} B)" in caught.value.reason
