"""Loads the model of a semantic search in the background, before the rest of the program: it takes longest."""

import os
from contextlib import suppress
from pathlib import Path

from promptuary.models import minilm
from promptuary.search.index.generations import Generations
from promptuary.workspace.data_folder.data_path import data_path
from promptuary.workspace.user_folders import cache_folder


def begin(workspace: str = os.curdir) -> None:
    """Start to load the model if the index of the workspace has vectors. A wrong guess only costs time."""
    # An error is reported when the model is used.
    with suppress(Exception):
        if _has_vectors(workspace):
            # One query is too little work for the threads that numpy would start.
            os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
            minilm.preload(cache_folder() / "models")


def _has_vectors(workspace: str) -> bool:
    here = Path(os.path.abspath(workspace))  # noqa: PTH100  (links are left as they are)
    for folder in (here, *here.parents):
        current = Generations(data_path(folder, disposable=True).folder / "index").current()
        if current is not None:
            return (current / "vectors").is_dir()
    return False
