"""Every index and every store of vectors keeps the same contract: ``index_conformance`` and ``suites.vectors``."""
# ruff: noqa: E402 - what asserts must be announced before it is imported

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

for suite in ("index_conformance", "suites.words", "suites.vectors"):
    pytest.register_assert_rewrite(f"promptuary.testing.{suite}")
pytest.importorskip("turbovec")

from promptuary.base.principals import Owner
from promptuary.search.index.index import DiskIndex
from promptuary.search.index.memory import MemoryIndex
from promptuary.search.index.port import SearchIndex, VectorStore
from promptuary.search.index.postgres.index import PostgresIndex
from promptuary.search.vectors.store import Vectors
from tests.in_memory_index import InMemoryIndex, InMemoryVectorStore
from tests.postgres import new_tenant
from tests.suites.index import EMBEDDER, SearchIndexConformance
from tests.suites.vectors import VectorStoreConformance
from tests.suites.words import WordSearchConformance


class TestInMemoryIndex(SearchIndexConformance, WordSearchConformance):
    @pytest.fixture
    def vectors(self) -> VectorStore:
        return InMemoryVectorStore()

    @pytest.fixture
    def index(self) -> SearchIndex:
        return InMemoryIndex()


class TestDiskIndex(SearchIndexConformance, WordSearchConformance):
    @pytest.fixture
    def vectors(self) -> VectorStore:
        return InMemoryVectorStore()

    @pytest.fixture
    def index(self, vectors: VectorStore, tmp_path: Path) -> Iterator[SearchIndex]:
        with closing(DiskIndex(tmp_path, "recipe", store=vectors, embedder=EMBEDDER)) as index:
            yield index


class TestMemoryIndex(SearchIndexConformance, WordSearchConformance):
    @pytest.fixture
    def vectors(self) -> VectorStore:
        return InMemoryVectorStore()

    @pytest.fixture
    def index(self, vectors: VectorStore) -> Iterator[SearchIndex]:
        with closing(MemoryIndex(store=vectors, embedder=EMBEDDER)) as index:
            yield index


class TestPostgresIndex(SearchIndexConformance, WordSearchConformance):
    @pytest.fixture
    def vectors(self) -> VectorStore:
        return InMemoryVectorStore()

    @pytest.fixture
    def index(self, vectors: VectorStore, postgres: str) -> Iterator[SearchIndex]:
        ada = Owner("user", "ada", "")
        made = PostgresIndex(new_tenant(postgres), "notes", "recipe", owner=ada, store=vectors, embedder=EMBEDDER)
        with closing(made) as index:
            yield index


class TestInMemoryVectors(VectorStoreConformance):
    @pytest.fixture
    def vectors(self) -> VectorStore:
        return InMemoryVectorStore()


class TestSqliteVectors(VectorStoreConformance):
    @pytest.fixture
    def vectors(self, tmp_path: Path) -> Iterator[VectorStore]:
        with closing(Vectors(tmp_path / "state.db")) as store:
            yield store
