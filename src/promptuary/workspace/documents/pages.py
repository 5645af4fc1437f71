"""Converts the bytes of a response to text that a model can read.

Decides what the bytes are (by the server's content type, or by the content if that is inconclusive), detects the
encoding, and passes HTML and PDF to ``convert``, which runs as a child process with limits. Does not know the
network: ``workspace.web.fetch`` decides what may be fetched. Invisible characters are kept; they are made visible when
a block is rendered.
"""

import codecs
import hashlib
import json
import os
import re
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Literal, cast

from msgspec import Struct

from promptuary.base import durable
from promptuary.base.errors import Code, SourceError
from promptuary.workspace.documents.converter import converter_version
from promptuary.workspace.user_folders import cache_folder, make_folder

if TYPE_CHECKING:
    from promptuary.workspace.documents.convert import Converted

_MAX_SECONDS = 8  # of computing; an ordinary page takes a tenth of a second
_MAX_REASON = 1_000

# What Python needs to find its packages. A parser must not see the keys and tokens in the environment.
_ENVIRONMENT = ("PATH", "HOME", "PYTHONHOME", "PYTHONPATH", "VIRTUAL_ENV", "LD_LIBRARY_PATH")

PageKind = Literal["html", "pdf", "docx", "text"]
"""The format of the bytes: all but text, which is only decoded, are converted. Nobody serves DOCX as a page."""


class PageText(Struct, frozen=True):
    """A body as text. ``language`` is the tag for a code fence; ``published`` is a date or empty."""

    text: str
    content_type: str
    language: str
    title: str = ""
    published: str = ""
    notes: tuple[str, ...] = ()
    truncated: bool = False


_HTML = frozenset({"text/html", "application/xhtml+xml"})
_PDF = frozenset({"application/pdf", "application/x-pdf"})
_UNSAID = frozenset({"", "application/octet-stream", "binary/octet-stream", "application/unknown", "text/plain"})
_LANGUAGES = {
    "json": "json",
    "ld+json": "json",
    "x-ndjson": "json",
    "manifest+json": "json",
    "markdown": "markdown",
    "x-markdown": "markdown",
    "xml": "xml",
    "yaml": "yaml",
    "x-yaml": "yaml",
    "javascript": "javascript",
    "x-javascript": "javascript",
    "ecmascript": "javascript",
    "typescript": "typescript",
    "toml": "toml",
    "css": "css",
    "csv": "csv",
    "x-python": "python",
    "x-sh": "sh",
    "sql": "sql",
}
_MEDIA = re.compile(r"[a-z0-9][a-z0-9!#$&^_.+-]{0,80}/[a-z0-9][a-z0-9!#$&^_.+-]{0,80}")
_CHARSET = re.compile(r"charset\s*=\s*[\"']?\s*([A-Za-z0-9_.:-]{1,40})", re.IGNORECASE)
_DECLARED = re.compile(
    rb"(?:<meta[^>]{0,200}?charset|<\?xml[^>]{0,100}?encoding)\s*=\s*[\"']?\s*([A-Za-z0-9_.:-]{1,40})"
)
_BOMS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
# Encodings of text on the web. Python has others that are transformations, or slow, or both.
_KNOWN = re.compile(
    r"utf-?8|utf-?16(?:le|be)?|iso-?8859-?\d{1,2}|windows-?125\d|cp125\d|koi8-[ru]|shift[_-]?jis|sjis|euc-(?:jp|kr)"
    r"|iso-2022-jp|gb2312|gbk|gb18030|big5(?:-hkscs)?|macintosh|ibm866|windows-874|tis-620",
)
# Browsers read these as the larger encodings that succeeded them, and authors of pages rely on it.
_READ_AS = {"us-ascii": "cp1252", "ascii": "cp1252", "latin1": "cp1252", "latin-1": "cp1252"} | {
    "iso-8859-1": "cp1252",
    "iso8859-1": "cp1252",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "macintosh": "mac-roman",
}


def read_body(body: bytes, content_type: str, *, url: str, seconds: float) -> PageText:
    """Return ``body`` as text. Raises ``SourceError`` if it is not text, broken, or takes longer than ``seconds``."""
    media = content_type.split(";", 1)[0].strip().lower()
    media = media if _MEDIA.fullmatch(media) else ""
    kind = _kind(body, media)
    if kind == "pdf":
        return _convert("pdf", body, url, seconds, notes=(), media="application/pdf", language="text")
    text, notes = decode(body, content_type)
    if kind == "html":
        markup = text.encode("utf-8", "replace")
        return _convert("html", markup, url, seconds, notes=notes, media=media or "text/html", language="markdown")
    if "\0" in text[:8192]:
        raise _unsupported_error("The response is binary, not text.")
    return PageText(text, media or "text/plain", _language(media), notes=notes)


def decode(body: bytes, content_type: str) -> tuple[str, tuple[str, ...]]:
    """Return ``body`` as text, with a note if its encoding was guessed or if it has invalid bytes."""
    bom = next((name for mark, name in _BOMS if body.startswith(mark)), None)
    if bom:
        return well_formed(body.decode(bom, "replace")), ()
    said = _CHARSET.search(content_type)
    declared = said[1] if said else _declared_charset(body)
    if declared and _codec(declared):
        return _decode_as(body, _codec(declared), declared)
    try:
        return body.decode(), ()
    except UnicodeDecodeError:
        guess = _guess(body)
    return well_formed(body.decode(guess, "replace")), (f"encoding guessed: {guess}",)


def _decode_as(body: bytes, codec: str, name: str) -> tuple[str, tuple[str, ...]]:
    try:
        return well_formed(body.decode(codec)), ()
    except UnicodeDecodeError:
        return well_formed(body.decode(codec, "replace")), (f"not valid {name.lower()}: invalid bytes were replaced",)


def _declared_charset(body: bytes) -> str:
    found = _DECLARED.search(body[:4096].replace(b"CHARSET", b"charset"))
    return found[1].decode("ascii") if found else ""


def _codec(name: str) -> str:
    name = name.lower()
    codec = _READ_AS.get(name, name)
    if codec in _READ_AS.values() or _KNOWN.fullmatch(codec):
        try:
            return codecs.lookup(codec).name
        except LookupError:
            return ""
    return ""


def _guess(body: bytes) -> str:
    from charset_normalizer import from_bytes  # noqa: PLC0415  (30 ms, and few pages need it)

    best = from_bytes(body[:32_768], steps=4, chunk_size=512).best()
    return best.encoding if best else "cp1252"


def well_formed(text: str) -> str:
    """Return ``text`` without lone surrogates."""
    return text.encode("utf-8", "replace").decode()


def _kind(body: bytes, media: str) -> PageKind:
    start = body[:1024].lstrip().lower()
    if media in _PDF or (media in _UNSAID and start.startswith(b"%pdf-")):
        return "pdf"
    looks_like_page = start.startswith((b"<!doctype html", b"<html", b"<head"))
    if media in _HTML or (media in _UNSAID - {"text/plain"} and looks_like_page):
        return "html"
    if not (media in _UNSAID or media.startswith("text/") or _subtype(media) in _LANGUAGES):
        raise _unsupported_error(
            f"{media} is not text. HTML, PDF, JSON, XML, YAML, Markdown and plain text can be read."
        )
    return "text"


def _subtype(media: str) -> str:
    subtype = media.partition("/")[2]
    if media.startswith(("image/", "audio/", "video/", "font/")):
        return ""
    return subtype if subtype in _LANGUAGES else subtype.rpartition("+")[2]


def _language(media: str) -> str:
    return _LANGUAGES.get(_subtype(media), "text")


def _convert(
    kind: PageKind, body: bytes, url: str, seconds: float, *, notes: tuple[str, ...], media: str, language: str
) -> PageText:
    page = run_converter(kind, body, url, seconds)
    if failed := page.get("failed"):
        raise SourceError(Code.FETCH_FAILED, failed)
    return PageText(
        text=well_formed(page["text"]),
        content_type=media,
        language=language,
        title=well_formed(page.get("title", "")),
        published=page.get("published", ""),
        notes=(*notes, *page.get("notes", ())),
        truncated=page.get("truncated", False),
    )


def run_converter(kind: PageKind, body: bytes, url: str, seconds: float) -> "Converted":
    """Return what ``workspace.documents.convert`` makes of ``body``: ``failed`` says why if it makes nothing of it.

    A content is tried once: why it failed is remembered in the cache until the converter changes. Otherwise every
    search and every turn would spend seconds on it again. Raises ``SourceError`` if that says more about this machine
    now than about the content: ``TIMEOUT`` after ``seconds``, else ``FETCH_FAILED``.
    """
    key = f"{hashlib.sha256(body).hexdigest()} {kind} {converter_version()}\n"
    if failed := _read_reason(key):
        return {"text": "", "failed": failed}
    # With -P it imports nothing from the current folder or our own.
    command = [sys.executable, "-P", str(Path(__file__).with_name("convert.py")), kind, str(_MAX_SECONDS)]
    environment = {name: os.environ[name] for name in _ENVIRONMENT if name in os.environ}
    try:
        done = subprocess.run(
            command,
            input=url.encode() + b"\n" + body,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=seconds,
            env=environment,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise SourceError(Code.TIMEOUT, "The conversion took too long; try again.") from None
    except OSError as error:
        raise SourceError(Code.FETCH_FAILED, f"The converter could not be started: {error.strerror}.") from error
    if done.returncode == -signal.SIGKILL:
        raise SourceError(Code.FETCH_FAILED, "The converter was ended, perhaps for want of memory; try again.")
    if done.returncode == 0:
        page = cast("Converted", json.loads(done.stdout))
    else:  # it ran into a limit of its own, or crashed
        page = {"text": "", "failed": "It is too large or too broken to be converted."}
    if "failed" in page:
        _remember(key, page["failed"])
    return page


def _read_reason(key: str) -> str:
    """Return why this content could not be converted before; empty if that is not known."""
    try:
        with _place(key).open("rb") as file:
            known = file.read(_MAX_REASON).decode("utf-8", "replace")
    except OSError:
        return ""
    return known.removeprefix(key) if known.startswith(key) else ""


def _remember(key: str, reason: str) -> None:
    # Where nothing can be written, it is tried again.
    with suppress(OSError):
        make_folder(_place(key).parent)
        durable.replace(_place(key), f"{key}{reason}".encode(), sync=False)


def _place(key: str) -> Path:
    # By a part of the hash: the folder never has more than 4,096 files, however many documents are broken.
    return cache_folder() / "failed-conversions" / key[:3]


def _unsupported_error(reason: str) -> SourceError:
    return SourceError(Code.UNSUPPORTED_TYPE, reason)
