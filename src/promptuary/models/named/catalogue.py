"""The named models: where each is published, how to use it where its own files do not say, and what was measured of it.

Values only. A model is published in a repository, whose newest revision is resolved and pinned when the person first
fetches it. The list has hashes only of files that were seen: those that a Python package carries.
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


class PackagedFile(NamedTuple):
    """A file in a package: its size in bytes, and its hash."""

    size: int
    sha256: str


class PackagedModel(Struct, frozen=True):
    """A Python package that carries the files of a model, of which nothing else is used.

    ``folder`` is where they are in it, beginning with the module; ``files`` are those that are needed.
    """

    requirement: str
    folder: str
    files: Mapping[str, PackagedFile]

    @property
    def version(self) -> str:
        """The version of the package."""
        return self.requirement.partition("==")[2]


class CatalogueEntry(Struct, frozen=True):
    """A model: its repository, languages and licence. ``pooling`` and ``prefixes`` are from its model card.

    ``millions`` are its parameters, about as many bytes at 8 bits; ``dimensions`` is how many numbers a vector has.
    ``gains`` and ``seconds`` as in ``ModelInfo``. ``advice`` says how to use one that cannot run here.
    """

    name: str
    repository: str
    kind: ModelKind = "embedder"
    languages: str = ""
    licence: str = ""
    pooling: Pooling | None = None
    prefixes: Mapping[str, str] = field(default_factory=dict)
    millions: int = 0
    dimensions: int = 0
    package: PackagedModel | None = None
    gains: Mapping[str, float] = field(default_factory=dict)
    seconds: float = 0.0
    advice: str = ""

    @property
    def settings(self) -> dict[str, object]:
        """What is written into Promptuary's own file in the folder of the model."""
        pooling = {"pooling": self.pooling} if self.pooling else {}
        languages = {"languages": self.languages} if self.languages else {}
        return {**pooling, **languages, **({"prefixes": dict(self.prefixes)} if self.prefixes else {})}


MINILM_SECONDS: Final = 13.0
"""How many seconds of one core the default takes to embed 1,000 chunks, measured in the same runs."""

_SERVED: Final = (
    "run it with a program that serves embeddings, such as llama.cpp, Ollama or vLLM, and set embed_url to its address "
    "and embed_model to its name there"
)

_TABLE: Final = (
    "its published files are a table, which Promptuary does not read, or need other inputs than it makes: add a folder "
    "with the table as an ONNX model of one Gather, with --from"
)

_ENTRIES: Final = (
    # The small ones first: `index` names the first that knows the languages of a folder.
    CatalogueEntry(
        "snowflake-arctic-embed-s",
        "Snowflake/snowflake-arctic-embed-s",
        languages="English",
        licence="Apache-2.0",
        pooling="cls",
        prefixes=_BGE,
        millions=33,
        dimensions=384,
        package=PackagedModel(
            "bot-brain==0.8.0",
            "project_brain/model/int8",
            {
                "onnx/model.onnx": PackagedFile(
                    34_015_111, "f93ff225320628d2e88baf2a395cae791b0e3b27edf5c70bf7b312a4d3260c14"
                ),
                "tokenizer.json": PackagedFile(
                    742_332, "87eb7217e03ca66a173ac8430e41d2b2edc5fd38ef2a0e01f86213e02c897a1b"
                ),
            },
        ),
        gains={"notes": -0.034, "answers": -0.002, "German": 0.001, "Japanese": 0.0, "code": -0.020, "chats": 0.011},
        seconds=22,
    ),
    CatalogueEntry(
        "snowflake-arctic-embed-xs",
        "Snowflake/snowflake-arctic-embed-xs",
        languages="English",
        licence="Apache-2.0",
        pooling="cls",
        prefixes=_BGE,
        millions=22,
        dimensions=384,
    ),
    CatalogueEntry(
        "bge-small-en-v1.5",
        "Xenova/bge-small-en-v1.5",
        languages="English",
        licence="MIT",
        pooling="cls",
        prefixes=_BGE,
        millions=33,
        dimensions=384,
    ),
    CatalogueEntry(
        "granite-embedding-30m-english",
        "onnx-community/granite-embedding-30m-english-ONNX",
        languages="English, code",
        licence="Apache-2.0",
        pooling="cls",
        millions=30,
        dimensions=384,
        gains={"notes": -0.053, "answers": -0.036, "German": 0.001, "Japanese": 0.0, "code": 0.015, "chats": 0.003},
        seconds=15,
    ),
    CatalogueEntry(
        "gte-small",
        "Xenova/gte-small",
        languages="English",
        licence="MIT",
        pooling="mean",
        millions=33,
        dimensions=384,
    ),
    CatalogueEntry(
        "multilingual-e5-small",
        "Xenova/multilingual-e5-small",
        languages="about 100",
        licence="MIT",
        pooling="mean",
        prefixes={"query": "query: ", "passage": "passage: "},
        millions=118,
        dimensions=384,
    ),
    CatalogueEntry(
        "paraphrase-multilingual-MiniLM-L12-v2",
        "Xenova/paraphrase-multilingual-MiniLM-L12-v2",
        languages="about 50",
        licence="Apache-2.0",
        pooling="mean",
        millions=118,
        dimensions=384,
    ),
    CatalogueEntry(
        "potion-base-8M",
        "minishlab/potion-base-8M",
        languages="English",
        licence="MIT",
        pooling="mean",
        millions=8,
        dimensions=256,
        gains={"notes": -0.064, "answers": -0.112, "German": 0.001, "Japanese": 0.0, "code": -0.283, "chats": 0.0},
        seconds=0.3,
        advice=_TABLE,
    ),
    CatalogueEntry(
        "nomic-embed-text-v1.5",
        "nomic-ai/nomic-embed-text-v1.5",
        languages="English",
        licence="Apache-2.0",
        pooling="mean",
        prefixes={"query": "search_query: ", "passage": "search_document: "},
        millions=137,
        dimensions=768,
    ),
    CatalogueEntry(
        "snowflake-arctic-embed-m-v2.0",
        "Snowflake/snowflake-arctic-embed-m-v2.0",
        languages="about 70",
        licence="Apache-2.0",
        pooling="cls",
        prefixes={"query": "query: "},
        millions=305,
        dimensions=768,
    ),
    CatalogueEntry(
        "gte-multilingual-base",
        "onnx-community/gte-multilingual-base",
        languages="about 70",
        licence="Apache-2.0",
        pooling="cls",
        millions=305,
        dimensions=768,
    ),
    CatalogueEntry(
        "embeddinggemma-300m",
        "onnx-community/embeddinggemma-300m-ONNX",
        languages="about 100",
        licence="Gemma",
        prefixes={"query": "task: search result | query: ", "passage": "title: none | text: "},
        millions=308,
        dimensions=768,
    ),
    CatalogueEntry(
        "bge-m3",
        "Xenova/bge-m3",
        languages="about 100",
        licence="MIT",
        pooling="cls",
        millions=568,
        dimensions=1024,
    ),
    CatalogueEntry(
        "Qwen3-Embedding-0.6B",
        "Qwen/Qwen3-Embedding-0.6B",
        languages="about 100, code",
        licence="Apache-2.0",
        millions=596,
        dimensions=1024,
        advice=_SERVED,
    ),
    CatalogueEntry(
        "ms-marco-MiniLM-L-6-v2",
        "Xenova/ms-marco-MiniLM-L-6-v2",
        "reranker",
        "English",
        "Apache-2.0",
        millions=23,
    ),
    CatalogueEntry(
        "jina-reranker-v1-tiny-en",
        "jinaai/jina-reranker-v1-tiny-en",
        "reranker",
        "English",
        "Apache-2.0",
        millions=33,
    ),
    CatalogueEntry(
        "mxbai-rerank-xsmall-v1",
        "mixedbread-ai/mxbai-rerank-xsmall-v1",
        "reranker",
        "English",
        "Apache-2.0",
        millions=71,
    ),
    CatalogueEntry(
        "mmarco-mMiniLMv2-L12-H384-v1",
        "cross-encoder/mmarco-mMiniLMv2-L12-H384-v1",
        "reranker",
        "14",
        "Apache-2.0",
        millions=118,
    ),
    CatalogueEntry(
        "jina-reranker-v2-base-multilingual",
        "jinaai/jina-reranker-v2-base-multilingual",
        "reranker",
        "about 100, code",
        "CC-BY-NC-4.0",
        millions=278,
    ),
    CatalogueEntry(
        "gte-multilingual-reranker-base",
        "onnx-community/gte-multilingual-reranker-base",
        "reranker",
        "about 70",
        "Apache-2.0",
        millions=306,
    ),
    CatalogueEntry(
        "bge-reranker-v2-m3",
        "onnx-community/bge-reranker-v2-m3-ONNX",
        "reranker",
        "about 100",
        "Apache-2.0",
        millions=568,
    ),
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
