"""The interfaces of models, all optional: chat models, embedders and rerankers."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol

from msgspec import Struct, field

if TYPE_CHECKING:  # a search embeds, and needs no messages
    from promptuary.base.messages import Message


class ChatModel(Protocol):
    """A model that answers: used for scoring, summarising, selecting and writeback where one is configured.

    It is optional. It raises ``PromptuaryError`` if it cannot answer; callers handle any other exception, too.
    """

    async def complete(self, messages: Sequence["Message"], *, max_tokens: int) -> str:
        """Return the model's answer as text."""
        ...


class JsonChatModel(Protocol):
    """A ``ChatModel`` that can enforce a JSON schema. ``core.ports.json_answers`` asks any model for JSON."""

    async def complete(self, messages: Sequence["Message"], *, max_tokens: int) -> str:
        """Return the model's answer as text."""
        ...

    async def complete_json(
        self, messages: Sequence["Message"], schema: Mapping[str, object], *, max_tokens: int
    ) -> str:
        """Return the model's answer as text that should hold one JSON object as ``schema`` describes it."""
        ...


Purpose = Literal["query", "passage"]
"""Some models embed a question differently from what answers it."""


class Scale(NamedTuple):
    """How the cosines of an embedder map to those for which the constants of the ranking were chosen.

    ``factor`` stretches them to the same width. ``unrelated`` is the cosine of a question and a text that have nothing
    to do with each other: the background of a query is at least that, however few texts show it.
    """

    factor: float = 1.0
    unrelated: float = 0.0


class Embedder(Protocol):
    """Turns texts into vectors. ``id`` changes whenever the same text would get another vector.

    One that knows its ``Scale`` may have it as ``scale``; any other is measured before its first chunk is embedded. One
    that does not know every language has those it knows as ``languages``: a frozenset of their codes, such as "en".
    """

    @property
    def id(self) -> str:
        """The model and everything else that determines its vectors."""
        ...

    @property
    def dimensions(self) -> int:
        """How many numbers a vector has."""
        ...

    def prepare(self) -> None:
        """Load everything, so that the first text need not wait for it; called in a separate thread."""
        ...

    def embed(self, texts: Sequence[str], purpose: Purpose) -> Sequence[bytes]:
        """Return one vector per text, in order. Raises ``PromptuaryError`` if it cannot. Called from any thread."""
        ...


class Reranker(Protocol):
    """Scores how well texts answer a question. Reading both together, it judges better than vectors do."""

    def rerank(self, query: str, texts: Sequence[str]) -> Sequence[float]:
        """Return one score per text, in order; higher is better. Scores of different calls are not comparable.

        Raises ``PromptuaryError`` if it cannot. Called from any thread.
        """
        ...


ModelKind = Literal["embedder", "reranker", ""]
"""The purpose of a model; empty if only the person knows."""

FileState = Literal["whole", "changed", "missing"]
"""Whether a file of a fetched model is the one that was fetched."""


class ModelFile(NamedTuple):
    """A file of a model as it was pinned, and whether the file on disk is the same."""

    path: str
    size: int
    sha256: str
    state: FileState


class ModelInfo(Struct, frozen=True):
    """A model with a name. ``revision`` is the commit that it is pinned to, empty if it was never fetched.

    ``installed``: it can be used. ``size`` is in bytes, and zero if it was never fetched; ``folder`` is where it is or
    would be. ``files`` are there if they were asked for. ``millions`` are its parameters, ``dimensions`` the numbers of
    a vector; zero if that is not known. ``package`` is the Python package that carries its files, if one is known to.

    ``gains`` say by how much nDCG@10 of the whole search is better with it than with the default, by the kind of texts,
    and ``seconds`` how many of one core it took to embed 1,000 chunks. Both are empty if it was not measured.
    """

    name: str
    kind: ModelKind
    repository: str
    revision: str = ""
    installed: bool = False
    size: int = 0
    languages: str = ""
    licence: str = ""
    folder: str = ""
    files: tuple[ModelFile, ...] = ()
    millions: int = 0
    dimensions: int = 0
    package: str = ""
    gains: Mapping[str, float] = field(default_factory=dict)
    seconds: float = 0.0


FetchProgress = Callable[[int, int], None]
"""Called with how many bytes of a model have arrived, of how many. An exception that it raises stops the fetch."""
