"""A folder of the person with a model in the ONNX format, in the layout of sentence-transformers and similar tools.

Reads how to use the model: which of several weights, pooling, window and prefixes. The folder is the person's own: a
workspace must never name one. The files may still be wrong, or much too large, and nothing in them is executed.

The file ``OWN_FILE`` in the folder overrides everything else: ``weights``, ``pooling``, ``window``, ``lower_case``,
``languages`` and ``prefixes`` (an object with ``query`` and ``passage``).
"""

import hashlib
import json
import os
import re
from collections.abc import Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast, get_args

from msgspec import Struct

from promptuary.base.errors import ConfigError
from promptuary.models.file_hashes import sha256_of
from promptuary.models.onnx_embedder import EmbeddingRecipe, OnnxEmbedder, Pooling
from promptuary.models.onnx_session import ModelFiles, read_verified

if TYPE_CHECKING:
    from promptuary.models.protocols import Purpose

OWN_FILE: Final = "promptuary.json"
TOKENIZER: Final = "tokenizer.json"
SETTINGS_FILES: Final = (
    OWN_FILE,
    "config.json",
    "modules.json",
    "sentence_bert_config.json",
    "config_sentence_transformers.json",
    "tokenizer_config.json",
    "1_Pooling/config.json",
)
"""Everything that is read from a folder, besides the weights and the tokenizer."""

_LARGEST_SETTINGS: Final = 1024 * 1024
_LARGEST_TOKENIZER: Final = 128 * 1024 * 1024
_PIECES: Final = 2048
"""How many tokens of a text are embedded; the time for a window grows with the square of its length."""
_SHORTEST_WINDOW: Final = 16
_OFFSET_MODELS: Final = frozenset({"roberta", "xlm-roberta", "camembert", "mpnet"})
"""Model families whose first positions are reserved."""
_WEIGHTS: Final = re.compile(r"(?:onnx/)?[\w.-]{1,100}\.onnx")
_MACHINES: Final = {"arm64": {"aarch64", "arm64"}, "avx2": {"x86_64"}, "avx512": {"x86_64"}}
"""The machines for weights with one of these words in their names."""
_POOLINGS: Final[Mapping[str, Pooling]] = {
    "cls": "cls",
    "cls_token": "cls",
    "mean": "mean",
    "mean_tokens": "mean",
    "mean_sqrt_len_tokens": "mean",  # another length, the same direction
    "max": "max",
    "max_tokens": "max",
    "lasttoken": "last",
}
"""The names in older and newer files of sentence-transformers."""


class OnnxFolder(Struct, frozen=True):
    """What a folder says about its model. ``hashes`` are those of the weights and the tokenizer, by their names."""

    path: Path
    weights: str
    hashes: Mapping[str, str]
    recipe: EmbeddingRecipe
    dimensions: int | None = None

    @property
    def digest(self) -> str:
        """The hash of everything that affects the model's results."""
        recipe = self.recipe
        parts = [
            sorted(self.hashes.items()),
            [recipe.pooling, recipe.window, recipe.windows, recipe.lower_case, sorted(recipe.prefixes.items())],
        ]
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()

    def files(self) -> ModelFiles:
        """Return the files for a session. Reading one raises ``ConfigError`` if it has changed since."""
        parts = [name for name in self.hashes if name != TOKENIZER]
        first = str(self.path / self.weights)
        return ModelFiles(
            self.path.name,
            self.digest[:12],
            (lambda: first) if len(parts) > 1 else partial(self._read, self.weights),
            partial(self._read, TOKENIZER),
        )

    def _read(self, name: str) -> bytes:
        changed = ConfigError(f"{self.path / name} has changed while it was in use; try again")
        try:
            return read_verified(self.path / name, self.hashes[name], changed)
        except OSError as error:
            raise ConfigError(f"{self.path / name} cannot be read: {error.strerror}") from error


def open_embedder(
    path: Path,
    *,
    cache: Path | None,
    name: str = "",
    hashes: Mapping[str, str] | None = None,
    threads: int | None = None,
) -> OnnxEmbedder:
    """Return the embedder in a folder. Raises ``ConfigError`` if there is none, or a hash differs."""
    folder = read_folder(path, cache=cache)
    check_hashes(folder, hashes or {}, name)
    recipe = folder.recipe
    identity = f"{name or 'onnx'} {folder.digest[:16]} {recipe.pooling or 'own'} {recipe.windows}x{recipe.window}"
    return OnnxEmbedder(identity, folder.dimensions, folder.files, recipe, threads=threads, cache=cache)


def check_hashes(folder: OnnxFolder, expected: Mapping[str, str], name: str) -> None:
    """Raise ``ConfigError`` if a file of a fetched model is not the one that was fetched."""
    for file, sha256 in folder.hashes.items():
        if expected.get(file, sha256) != sha256:
            raise ConfigError(
                f"{file} of the model {name} is not the file that was fetched; run `promptuary model remove {name}` "
                f"and `promptuary model add {name}`"
            )


def read_folder(path: Path, *, cache: Path | None) -> OnnxFolder:
    """Return the settings of the model in the folder ``path``; ``path`` may also be the weights in it.

    ``cache`` is a private folder of the person, where the hashes of large files are cached.
    """
    folder, named = _split(path)
    settings = {name: _json(folder / name) for name in SETTINGS_FILES}
    own = _object(settings[OWN_FILE])
    weights = named or _text(own, "weights") or choose_weights(_names(folder))
    if not _WEIGHTS.fullmatch(weights) or not (folder / weights).is_file():
        raise ConfigError(f"{folder} has no weights in the ONNX format, such as model.onnx or onnx/model.onnx")
    if not (folder / TOKENIZER).is_file() or (folder / TOKENIZER).stat().st_size > _LARGEST_TOKENIZER:
        raise ConfigError(f"{folder} has no tokenizer.json, which Promptuary needs next to the weights")
    parts = [weights, *(name for name in external_names(weights) if (folder / name).is_file()), TOKENIZER]
    hashes = {name: sha256_of(folder / name, cache) for name in parts}
    return OnnxFolder(folder, weights, hashes, _recipe(settings, own, folder), _dimensions(settings))


def choose_weights(names: Iterable[str]) -> str:
    """Return which weights in a folder to use: 8-bit ones for this machine, else the plain ones.

    8-bit weights are a quarter of the size and faster on a CPU; 16-bit and 4-bit ones are slower there. Returns
    an empty text if there are none.
    """
    found = sorted(name for name in names if _WEIGHTS.fullmatch(name))
    return min(found, key=_preference, default="")


def external_names(weights: str) -> tuple[str, str]:
    """Return the possible names of the file with the external data of ``weights``."""
    return f"{weights}_data", f"{weights}.data"


def _preference(name: str) -> tuple[int, str]:
    """Return a number that is smaller for better weights."""
    stem = name.rpartition("/")[2].removesuffix(".onnx")
    foreign = any(word in stem and os.uname().machine not in machines for word, machines in _MACHINES.items())
    if foreign or re.search(r"fp16|bnb4|q4|q2|O4", stem):
        return 9, name
    order = (
        "model_quantized",
        "model_int8",
        "model_quint8_avx2",
        "model_qint8_avx512_vnni",
        "model_optimized",
        "model",
    )
    if stem in order:
        return order.index(stem), name
    return (4 if re.search(r"int8|quant", stem) else 7), name


def _split(path: Path) -> tuple[Path, str]:
    """Return the folder of a model, and the weights in it if ``path`` names them."""
    if path.suffix != ".onnx":
        if not path.is_dir():
            raise ConfigError(f"{path} is not a folder with a model")
        return path, ""
    folder = path.parent.parent if path.parent.name == "onnx" else path.parent
    return folder, path.relative_to(folder).as_posix()


def _names(folder: Path) -> list[str]:
    found = [*folder.glob("*.onnx"), *folder.glob("onnx/*.onnx")]
    return [one.relative_to(folder).as_posix() for one in found]


def _recipe(settings: Mapping[str, Any], own: Mapping[str, Any], folder: Path) -> EmbeddingRecipe:
    bert, prompts = _object(settings["sentence_bert_config.json"]), _prompts(settings)
    window = _window(settings, own)
    given = _object(own.get("prefixes"))
    prefixes = {**prompts, **{key: value for key in ("query", "passage") if isinstance(value := given.get(key), str)}}
    return EmbeddingRecipe(
        _pooling(settings, own, folder),
        window,
        max(1, _PIECES // window),
        cast("Mapping[Purpose, str]", {key: value for key, value in prefixes.items() if value}),
        bool(own.get("lower_case", bert.get("do_lower_case", False))),
        _text(own, "languages"),
    )


def _pooling(settings: Mapping[str, Any], own: Mapping[str, Any], folder: Path) -> Pooling | None:
    if (chosen := _text(own, "pooling")) in get_args(Pooling):
        return cast("Pooling", chosen)
    if chosen:
        raise ConfigError(f"pooling in {folder / OWN_FILE} must be one of {', '.join(get_args(Pooling))}")
    modules = settings["modules.json"]
    kinds = [_text(_object(one), "type").rpartition(".")[2] for one in modules] if isinstance(modules, list) else []
    if unknown := [kind for kind in kinds if kind not in {"Transformer", "Pooling", "Normalize"}]:
        raise ConfigError(f"the model in {folder} has a part that Promptuary cannot run: {unknown[0][:60]}")
    config = _object(settings["1_Pooling/config.json"])
    modes = (
        [mode]
        if isinstance(mode := config.get("pooling_mode"), str)
        else [
            name.removeprefix("pooling_mode_")
            for name, value in config.items()
            if name.startswith("pooling_mode_") and value is True
        ]
    )
    if not modes:
        return None
    if len(modes) > 1 or modes[0] not in _POOLINGS:
        raise ConfigError(
            f"the model in {folder} pools in a way that Promptuary does not know: {', '.join(modes)[:100]}"
        )
    return _POOLINGS[modes[0]]


def _window(settings: Mapping[str, Any], own: Mapping[str, Any]) -> int:
    """Return how many tokens the model takes: the smallest limit in any of its files."""
    config, bert = _object(settings["config.json"]), _object(settings["sentence_bert_config.json"])
    positions = _number(config, "max_position_embeddings")
    if positions and config.get("model_type") in _OFFSET_MODELS:
        positions -= 2
    limits = [
        positions,
        _number(bert, "max_seq_length"),
        _number(_object(settings["tokenizer_config.json"]), "model_max_length"),
    ]
    window = _number(own, "window") or min((one for one in limits if one), default=512)
    return max(_SHORTEST_WINDOW, min(window, _PIECES))


def _prompts(settings: Mapping[str, Any]) -> dict[str, str]:
    """Return the prefixes that sentence-transformers would use for a query and for a document."""
    config = _object(settings["config_sentence_transformers.json"])
    prompts = {name: text for name, text in _object(config.get("prompts")).items() if isinstance(text, str)}
    default = prompts.get(_text(config, "default_prompt_name"), "")
    passage = next((prompts[name] for name in ("document", "passage", "corpus") if name in prompts), default)
    return {"query": prompts.get("query", default), "passage": passage}


def _dimensions(settings: Mapping[str, Any]) -> int | None:
    config, pooling = _object(settings["config.json"]), _object(settings["1_Pooling/config.json"])
    return _number(pooling, "word_embedding_dimension") or _number(config, "hidden_size") or None


def _json(path: Path) -> Any:
    """Return the content of a settings file, or ``None`` if it does not exist."""
    try:
        with path.open("rb") as file:
            content = file.read(_LARGEST_SETTINGS + 1)
        if len(content) > _LARGEST_SETTINGS:
            raise ConfigError(f"{path} is too large: a file of settings has at most 1 MB")
        return json.loads(content)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{path} is not valid JSON") from error


def _object(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _text(values: Mapping[str, Any], name: str) -> str:
    value = values.get(name)
    return value if isinstance(value, str) else ""


def _number(values: Mapping[str, Any], name: str) -> int:
    """Return a whole number above zero, else zero. Tokenizers write 1e30 where they have no limit."""
    value = values.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 < value < 10**6 else 0
