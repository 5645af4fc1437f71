"""The named models: where each is published, and how to use it where its own files do not say.

Values only. A model is published in a repository, whose newest revision is resolved and pinned when the person first
fetches it. The list has no hashes, because none of these files could be verified when it was written.
"""

import re
from collections.abc import Collection, Mapping
from typing import Final, NamedTuple

from msgspec import Struct, field

from promptuary.base.errors import ConfigError
from promptuary.models.languages import languages_named
from promptuary.models.onnx_embedder import Pooling
from promptuary.models.protocols import ModelKind

NEWEST: Final = "main"
"""The revision that is resolved and pinned at the first fetch."""

_NAME: Final = re.compile(r"[A-Za-z0-9][\w.-]{0,95}")
_REPOSITORY: Final = re.compile(r"[A-Za-z0-9][\w.-]{0,95}/[A-Za-z0-9][\w.-]{0,95}")
_REVISION: Final = re.compile(r"[A-Za-z0-9][\w.-]{0,99}")
_BGE: Final = {"query": "Represent this sentence for searching relevant passages: "}


class CatalogueEntry(Struct, frozen=True):
    """A model: its repository, languages and licence. ``pooling`` and ``prefixes`` are from its model card."""

    name: str
    repository: str
    kind: ModelKind = "embedder"
    languages: str = ""
    licence: str = ""
    pooling: Pooling | None = None
    prefixes: Mapping[str, str] = field(default_factory=dict)

    @property
    def settings(self) -> dict[str, object]:
        """What is written into Promptuary's own file in the folder of the model."""
        pooling = {"pooling": self.pooling} if self.pooling else {}
        languages = {"languages": self.languages} if self.languages else {}
        return {**pooling, **languages, **({"prefixes": dict(self.prefixes)} if self.prefixes else {})}


_ENTRIES: Final = (
    CatalogueEntry("bge-small-en-v1.5", "Xenova/bge-small-en-v1.5", "embedder", "English", "MIT", "cls", _BGE),
    *(
        CatalogueEntry(
            f"snowflake-arctic-embed-{size}",
            f"Snowflake/snowflake-arctic-embed-{size}",
            languages="English",
            licence="Apache-2.0",
            pooling="cls",
            prefixes=_BGE,
        )
        for size in ("xs", "s")
    ),
    CatalogueEntry(
        "granite-embedding-30m-english",
        "onnx-community/granite-embedding-30m-english-ONNX",
        "embedder",
        "English, code",
        "Apache-2.0",
        "cls",
    ),
    CatalogueEntry("gte-small", "Xenova/gte-small", "embedder", "English", "MIT", "mean"),
    CatalogueEntry(
        "multilingual-e5-small",
        "Xenova/multilingual-e5-small",
        "embedder",
        "about 100",
        "MIT",
        "mean",
        {"query": "query: ", "passage": "passage: "},
    ),
    CatalogueEntry(
        "nomic-embed-text-v1.5",
        "nomic-ai/nomic-embed-text-v1.5",
        "embedder",
        "English",
        "Apache-2.0",
        "mean",
        {"query": "search_query: ", "passage": "search_document: "},
    ),
    CatalogueEntry("ms-marco-MiniLM-L-6-v2", "Xenova/ms-marco-MiniLM-L-6-v2", "reranker", "English", "Apache-2.0"),
    CatalogueEntry("jina-reranker-v1-tiny-en", "jinaai/jina-reranker-v1-tiny-en", "reranker", "English", "Apache-2.0"),
)
CATALOGUE: Final[Mapping[str, CatalogueEntry]] = {entry.name: entry for entry in _ENTRIES}


def embedder_knowing(languages: Collection[str]) -> str:
    """Return the first embedder that knows all of these languages; empty if there is none."""
    known = ((one.name, languages_named(one.languages)) for one in _ENTRIES if one.kind == "embedder")
    return next((name for name, own in known if own is None or own.issuperset(languages)), "")


class Requested(NamedTuple):
    """A model as a person requests it; without a ``revision``, the pinned one, or the newest."""

    entry: CatalogueEntry
    revision: str = ""


def requested(text: str) -> Requested:
    """Return the model of ``NAME`` or ``OWNER/NAME``, either with ``@REVISION``.

    Raises ``ConfigError`` if ``text`` is neither.
    """
    name, at, revision = text.partition("@")
    entry = CATALOGUE.get(name) or (CatalogueEntry(name, name, "") if _REPOSITORY.fullmatch(name) else None)
    if entry is None or ".." in name:
        raise ConfigError(
            f"no model is called {text[:100]!r}; `promptuary model list` shows those with a name, and OWNER/NAME names "
            "a repository"
        )
    if at and not _REVISION.fullmatch(revision):
        raise ConfigError(f"{revision[:100]!r} is not a revision; write a branch, a tag or a commit")
    return Requested(entry, revision)


def is_name(text: str) -> bool:
    """Return whether ``text`` can be the name of a model, with or without an owner."""
    return bool(_NAME.fullmatch(text) or _REPOSITORY.fullmatch(text)) and ".." not in text
