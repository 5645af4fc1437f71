"""The settings: one frozen value, loaded once. The first place that names a setting wins.

    options  >  PROMPTUARY_* in the environment  >  the workspace  >  the user's configuration  >  defaults

The files of a workspace (``.promptuary/config.toml`` before ``promptuary.toml`` before ``[tool.promptuary]`` in
``pyproject.toml``) may come from strangers. They can set how much context is wanted but nothing in ``USER_ONLY``, and
their mistakes become notes. A mistake anywhere else is a ``ConfigError``.
"""

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, TypedDict

from msgspec import Struct, field
from msgspec.structs import replace

from promptuary.base.errors import Code, ConfigError, SourceError
from promptuary.base.text import one_line
from promptuary.config.settings_file import SHORT_NAMES, STATIC_LAYERS, parse_settings, without_tables, workspace_table
from promptuary.config.values import convert, cut, nearest
from promptuary.tokens.counting import DEFAULT_VOCABULARY, DEFAULT_WINDOW, Model, for_model, known_model
from promptuary.workspace.access import Access
from promptuary.workspace.disk.ownership import own_markers
from promptuary.workspace.disk.read import read_text
from promptuary.workspace.disk.root import Root

if TYPE_CHECKING:
    from promptuary.config.gateways import NamedGateway
    from promptuary.config.named_models import NamedModel
    from promptuary.config.static_layers import StaticLayer
    from promptuary.config.tool_servers import NamedServer

MARKERS: Final = (".promptuary", ".git", "promptuary.toml")
"""A folder that contains one of these is a workspace."""

WORKSPACE_FILES: Final = ("pyproject.toml", "promptuary.toml", ".promptuary/config.toml")
"""Where a workspace has settings; a later one wins."""
_PREFIX: Final = "PROMPTUARY_"
_OTHERS: Final = frozenset({"PROMPTUARY_TOKEN"})
"""Variables that are no settings: clients of the server read their token there."""
_MODELS: Final = "models"
_GATEWAYS: Final = "gateways"
_MCP: Final = "mcp"
_OWN_TABLES: Final = (_MODELS, _GATEWAYS, _MCP)
"""Tables that only the person's own configuration has."""
_MAX_NOTES: Final = 5
MAX_FILE_SIZE: Final = 1024 * 1024
"""Bytes that a file of settings may have."""
_UNKNOWN_WINDOW: Final = 32_768
"""The window of an unknown chat model: small enough for most local models."""


def counting_notes(model: str, assumed: int, approximate: str) -> Sequence[str]:
    """Return a note if the window of the model is a guess, or if its tokens cannot be counted exactly.

    ``assumed`` is the assumed window, if one is; ``approximate`` the vocabulary that is used instead of its own.
    """
    name = cut(model)
    if assumed:
        return [f"the window of {name} is not known: {assumed:,} tokens are assumed; set window"]
    if approximate:
        why = "its vocabulary is not public" if known_model(model) else "the model is unknown"
        return [f"token counts for {name} are approximate: {why}, so {approximate} is used"]
    return []


class Settings(Struct, frozen=True):
    """All settings, each with its help. Sizes are in bytes, times in seconds, shares are fractions of the window."""

    model: Annotated[str, "use the window and vocabulary of this model: gpt-4o"] = ""
    answer_model: Annotated[str, "use the window and vocabulary of this configured chat model"] = ""
    window: Annotated[int, "the model's context window (default: 128000)"] = 0
    vocabulary: Annotated[str, "count tokens with this vocabulary (default: o200k_base)"] = ""
    warn_share: Annotated[float, "warn if attachments use more than this share of the window"] = 0.25
    limit_share: Annotated[float, "limit attachments to this share of the window"] = 0.5
    budget: Annotated[int, "fit what is attached into this many tokens (default: limit_share of the window)"] = 0
    timeout: Annotated[float, "timeout of one reference"] = 30.0
    max_file_size: Annotated[int, "maximum size of a file"] = 1024 * 1024
    allowed_extensions: Annotated[tuple[str, ...], "also read files with these extensions"] = ()
    allow_sensitive: Annotated[tuple[str, ...], "read these files even if their names suggest secrets"] = ()
    follow_symlinks: Annotated[bool, "follow symlinks that stay inside the workspace"] = False
    allow_hosts: Annotated[tuple[str, ...], "fetch from these hosts even if their address is private"] = ()
    fetch_timeout: Annotated[float, "timeout of one web page"] = 15.0
    reply_reserve: Annotated[int, "in a thread: reserve this many tokens for the reply"] = 4096
    history_share: Annotated[float, "give the history at least this share of the unreserved window"] = 0.4
    compact_share: Annotated[float, "compact the history if it exceeds this share of the window"] = 0.7
    compact_goal_share: Annotated[float, "compact it to this share of the window"] = 0.35
    compact_keep: Annotated[int, "leave this many of the newest messages unchanged"] = 6
    shorten_over: Annotated[int, "shorten tool results and attachments over this size"] = 400
    shorten_to: Annotated[int, "shorten them to this size"] = 160
    summary_tokens: Annotated[int, "maximum size of a summary"] = 1500
    summary_least: Annotated[int, "size that a summary may have even above the goal"] = 300
    summary_input: Annotated[int, "maximum input of the model that writes summaries"] = 32_000
    summary_timeout: Annotated[float, "timeout of the model that writes summaries"] = 30.0
    summary_model: Annotated[str, "chat model that summarises a long history"] = ""
    chunk_tokens: Annotated[int, "maximum size of an indexed chunk"] = 256
    chunk_overlap: Annotated[int, "overlap of neighbouring chunks"] = 32
    index_hidden: Annotated[bool, "index hidden and generated files: .obsidian, lock files, minified code"] = False
    embedder: Annotated[str, "embed with auto, none, minilm, a model, onnx:FOLDER, endpoint or a plug-in"] = "auto"
    embed_url: Annotated[str, "OpenAI-compatible embedding endpoint, up to /embeddings"] = ""
    embed_model: Annotated[str, "model of the embedding endpoint"] = ""
    embed_key: Annotated[str, "environment variable with its API key"] = ""
    model_url: Annotated[str, "host to fetch models from, or a mirror of it"] = "https://huggingface.co"
    reranker: Annotated[str, "rerank with auto, none, a model, onnx:FOLDER or endpoint"] = "auto"
    rerank_url: Annotated[str, "rerank endpoint, up to /rerank"] = ""
    rerank_model: Annotated[str, "model of the rerank endpoint"] = ""
    rerank_key: Annotated[str, "environment variable with its API key"] = ""
    rerank_timeout: Annotated[float, "skip the reranker if it takes longer"] = 5.0
    watch_debounce: Annotated[float, "wait for this long without changes before indexing"] = 0.2
    memory_folder: Annotated[str, "subfolder of the agent's notes; may contain {user} and {thread}"] = ""
    memory_tokens: Annotated[int, "maximum tokens of notes in a turn; 0 disables memory"] = 15_360
    recall_tokens: Annotated[int, "in a thread: tokens for recalled passages, 0 for none"] = 2000
    recall_mode: Annotated[str, "hybrid_async, or legacy_blocking to wait for recalled notes"] = "hybrid_async"
    recall_model: Annotated[str, "chat model that selects notes"] = ""
    recall_timeout_ms: Annotated[int, "timeout for selecting notes, in milliseconds"] = 1500
    recall_max_selected: Annotated[int, "include at most this many full notes in a turn"] = 5
    recall_prompt: Annotated[str, "instructions for the model that selects notes"] = ""
    writeback_wait_policy: Annotated[str, "never_wait, or soft_drain to wait briefly for writeback"] = "never_wait"
    writeback_model: Annotated[str, "chat model that writes notes after a turn"] = ""
    writeback_qa_prompt: Annotated[str, "instructions for its notes on the work"] = ""
    writeback_profile_prompt: Annotated[str, "instructions for its notes on the person"] = ""
    experiences: Annotated[bool, "record experiences of finished turns"] = True
    experience_tokens: Annotated[int, "maximum tokens of experiences in a turn; 0 disables them"] = 400
    experience_model: Annotated[str, "chat model that extracts experiences from turns"] = ""
    server: Annotated[str, "address of promptuary serve: commands use the workspace there, not the folder"] = ""
    recorded_days: Annotated[int, "days that conversations of clients of the server are kept; 0 keeps them"] = 0
    file_reference_base_dir: Annotated[str, "base folder of paths after # (default: the workspace)"] = ""
    file_reference_slot: Annotated[int, "slot of the tracked files"] = 350
    file_reference_max_file_size: Annotated[int, "maximum size of a tracked file (default: that of max_file_size)"] = 0
    file_reference_follow_symlinks: Annotated[bool, "track targets of symlinks (default: as follow_symlinks)"] = False
    file_reference_allowed_extensions: Annotated[
        tuple[str, ...], "track only files with these extensions or names"
    ] = ()
    file_reference_scoring_model: Annotated[str, "chat model that scores the relevance of tracked files"] = ""
    file_reference_max_files: Annotated[int, "track at most this many files"] = 100
    instructions_folder: Annotated[str, "read instruction files down to this folder (default: the workspace only)"] = ""
    instructions_slot: Annotated[int, "slot of the instructions"] = 105
    instructions_max_bytes: Annotated[int, "maximum size of all instruction files"] = 32 * 1024
    instructions_max_file_bytes: Annotated[int, "maximum size of one instruction file"] = 32 * 1024
    instructions_tag: Annotated[str, "tag around each instruction file"] = "instructions"
    instructions_budget: Annotated[int, "maximum tokens of instructions; 0 means what fits (default: 0)"] = 0
    database: Annotated[str, "PostgreSQL for threads and memory: postgresql://USER@HOST/NAME (default: a file)"] = ""
    tenant: Annotated[str, "name of this workspace in that database (default: one that only you can use)"] = ""
    index: Annotated[str, "embedded, or database to search in PostgreSQL instead of a folder here"] = "embedded"
    notes: Annotated[str, "files, or database to keep notes in PostgreSQL instead of folders here"] = "files"
    static_layers: "tuple[StaticLayer, ...]" = ()
    """The layers that show a file on every turn: the person's, and those of the workspace."""
    models: "tuple[NamedModel, ...]" = ()
    """The named chat models."""
    gateways: "tuple[NamedGateway, ...]" = ()
    """The bots of chat platforms that the person configured."""
    mcp: "tuple[NamedServer, ...]" = ()
    """The MCP servers whose tools and resources the person uses."""
    warnings: tuple[str, ...] = ()
    """What was ignored and why, and what else the person should know: one printable line each."""
    origins: tuple[tuple[str, str], ...] = ()
    """The origin of each setting that was set."""

    @property
    def effective_window(self) -> int:
        """The window that was set, else the model's, else the default."""
        return self.window or self._model.window

    def limit_in(self, window: int) -> int:
        """Return how many tokens a message may attach: the budget if there is one, else a share of ``window``."""
        return min(self.budget, window) or int(window * self.limit_share)

    @property
    def effective_vocabulary(self) -> str:
        """The vocabulary that was set, else the model's, else the default."""
        return self.vocabulary or self._model.vocabulary

    @property
    def approximate(self) -> bool:
        """Whether tokens are counted with a vocabulary that may not be the model's."""
        return not self.vocabulary and not self._model.exact

    @property
    def effective_compact_goal(self) -> float:
        """The goal of a compaction: half of ``compact_share`` if the goal that was set is not below that."""
        goal, share = self.compact_goal_share, self.compact_share
        return goal if goal < share else share / 2

    @property
    def effective_shorten_to(self) -> int:
        """The length to shorten to: half of ``shorten_over`` if the length that was set is not below that."""
        return self.shorten_to if self.shorten_to < self.shorten_over else self.shorten_over // 2

    @property
    def _model(self) -> Model:
        if self.model:
            return known_model(self.model) or Model(DEFAULT_WINDOW, DEFAULT_VOCABULARY, exact=False)
        if (named := self._named_answer_model) is None:
            return Model(DEFAULT_WINDOW, DEFAULT_VOCABULARY)
        unknown = Model(_UNKNOWN_WINDOW, DEFAULT_VOCABULARY, exact=False)
        # A model without a name is scripted, or an object: the defaults apply.
        known = known_model(named.model) or unknown if named.model else Model(DEFAULT_WINDOW, DEFAULT_VOCABULARY)
        return replace(known, window=named.window) if named.window else known

    @property
    def counted_model(self) -> str:
        """The model for which tokens are counted: the one that was set, else the answering model; may be empty."""
        named = self._named_answer_model
        return self.model or (named.model if named else "")

    @property
    def assumes_window(self) -> bool:
        """Whether the window is a guess, because the answering model is unknown."""
        named = self._named_answer_model
        unknown = named is not None and bool(named.model) and not named.window and known_model(named.model) is None
        return unknown and not self.model and not self.window

    @property
    def counting_notes(self) -> Sequence[str]:
        """A note if tokens cannot be counted exactly for the model, or if its window is a guess."""
        assumed = self.effective_window if self.assumes_window else 0
        return counting_notes(self.counted_model, assumed, self.effective_vocabulary if self.approximate else "")

    @property
    def _named_answer_model(self) -> "NamedModel | None":
        try:
            return self.chat(self.answer_model) if self.answer_model else None
        except ConfigError:  # reported when the model is used
            return None

    def chat(self, name: str) -> "NamedModel":
        """Return the chat model called ``name``. Raises ``ConfigError``, which says what to do, if there is none."""
        from promptuary.config.named_models import find_model  # noqa: PLC0415  (few talk to a model)

        return find_model(name, self.models, os.environ)

    def origin(self, name: str) -> str:
        """Return where a setting comes from.

        One of "default", "model", "your configuration", the name of a file, "environment" and "option".
        """
        by_model = name in {"window", "vocabulary"} and known_model(self.counted_model) is not None
        return dict(self.origins).get(name, "model" if by_model else "default")


class SettingsOptions(TypedDict, total=False):
    """The settings as keyword arguments: a value, a text that spells it (``"128k"``), or ``None`` to leave it unset."""

    model: str | None
    answer_model: str | None
    window: int | str | None
    vocabulary: str | None
    warn_share: float | str | None
    limit_share: float | str | None
    budget: int | str | None
    timeout: float | str | None
    max_file_size: int | str | None
    allowed_extensions: Sequence[str] | None
    allow_sensitive: Sequence[str] | None
    follow_symlinks: bool | str | None
    allow_hosts: Sequence[str] | None
    fetch_timeout: float | str | None
    reply_reserve: int | str | None
    history_share: float | str | None
    compact_share: float | str | None
    compact_goal_share: float | str | None
    compact_keep: int | str | None
    shorten_over: int | str | None
    shorten_to: int | str | None
    summary_tokens: int | str | None
    summary_least: int | str | None
    summary_input: int | str | None
    summary_timeout: float | str | None
    summary_model: str | None
    chunk_tokens: int | str | None
    chunk_overlap: int | str | None
    index_hidden: bool | str | None
    embedder: str | None
    embed_url: str | None
    embed_model: str | None
    embed_key: str | None
    model_url: str | None
    reranker: str | None
    rerank_url: str | None
    rerank_model: str | None
    rerank_key: str | None
    rerank_timeout: float | str | None
    watch_debounce: float | str | None
    memory_folder: str | None
    memory_tokens: int | str | None
    recall_tokens: int | str | None
    recall_mode: str | None
    recall_model: str | None
    recall_timeout_ms: int | str | None
    recall_max_selected: int | str | None
    recall_prompt: str | None
    writeback_wait_policy: str | None
    writeback_model: str | None
    writeback_qa_prompt: str | None
    writeback_profile_prompt: str | None
    experiences: bool | str | None
    experience_tokens: int | str | None
    experience_model: str | None
    server: str | None
    recorded_days: int | str | None
    file_reference_base_dir: str | None
    file_reference_slot: int | str | None
    file_reference_max_file_size: int | str | None
    file_reference_follow_symlinks: bool | str | None
    file_reference_allowed_extensions: Sequence[str] | None
    file_reference_scoring_model: str | None
    file_reference_max_files: int | str | None
    instructions_folder: str | None
    instructions_slot: int | str | None
    instructions_max_bytes: int | str | None
    instructions_max_file_bytes: int | str | None
    instructions_tag: str | None
    instructions_budget: int | str | None
    database: str | None
    tenant: str | None
    index: str | None
    notes: str | None
    static_layers: Mapping[str, object] | None
    """Layers that show a file, by name: a table as in ``[layers.static.NAME]``."""
    models: Mapping[str, object] | None
    """Chat models by name: a table as in ``[models.NAME]``, or a ``ChatModel``."""
    mcp: Mapping[str, object] | None
    """MCP servers by name: a table as in ``[mcp.NAME]``."""


USER_ONLY: Final = frozenset(
    {
        "allow_hosts",
        "allowed_extensions",
        "allow_sensitive",
        "answer_model",
        "database",
        "embed_key",
        "embed_url",
        "embedder",
        "index",
        "experience_model",
        "experiences",
        "file_reference_follow_symlinks",
        "file_reference_scoring_model",
        "follow_symlinks",
        "max_file_size",
        "model_url",
        "notes",
        "recall_model",
        "recall_prompt",
        "recorded_days",
        "rerank_key",
        "rerank_model",
        "rerank_url",
        "reranker",
        "server",
        "summary_model",
        "tenant",
        "writeback_model",
        "writeback_profile_prompt",
        "writeback_qa_prompt",
    }
)
"""Settings that widen what may be read or sent. The files of a workspace cannot set them."""

_INTERNAL: Final = frozenset({"static_layers", "models", "gateways", "mcp", "warnings", "origins"})
"""Fields that no single value sets."""
SETTINGS: Final[Mapping[str, Any]] = {
    name: default
    for name, default in zip(Settings.__struct_fields__, Settings.__struct_defaults__, strict=True)
    if name not in _INTERNAL
}
"""Every setting and its default."""


def setting_help(name: str) -> str:
    """Return what a setting means, in one line."""
    text: str = Settings.__annotations__[name].__metadata__[0]
    default = SETTINGS[name]
    return (
        f"{text} (default: {_spell(name, default)})"
        if (default or default is False) and "(default" not in text
        else text
    )


def _spell(name: str, default: object) -> str:
    match default:
        case bool():
            return "yes" if default else "no"
        case int() if "size" in name or "bytes" in name:
            return f"{default // 1024**2}MB" if default >= 1024**2 else f"{default // 1024}KB"
        case float():
            return f"{default:.0%}" if name.endswith("_share") else f"{default:g}"
    return str(default)


def check_setting(name: str, where: str) -> str:
    """Return the name of a setting, for which a short one may stand. Raises ``ConfigError``, which names a near one."""
    known = SHORT_NAMES.get(name, name)
    if known in SETTINGS:
        return known
    meant = nearest(name, SETTINGS)
    advice = f"did you mean {meant}?" if meant else "`promptuary config` lists all settings"
    raise ConfigError(f"{where} is not a setting; {advice}")


def check_settings(text: str, file: str) -> None:
    """Raise ``ConfigError`` for a mistake in the text of a file: the path of the person's own, or a workspace's."""
    draft = _Draft()
    if file in WORKSPACE_FILES:
        draft.take_from_workspace(workspace_table(parse_settings(text, file), file), file)
    else:
        draft.take(
            without_tables(parse_settings(text, file), file), "your configuration", lambda name: f"{name} in {file}"
        )
    if draft.notes:
        raise ConfigError(draft.notes[0].removesuffix(" (ignored)"))
    draft.finished()


def load(workspace: Path, options: SettingsOptions | None = None) -> Settings:
    """Return the settings for ``workspace``.

    Raises ``ConfigError`` for a mistake in ``options``, the environment or the user's configuration. A mistake in a
    file of the workspace is ignored, with a note.
    """
    draft = _Draft()
    path = user_file()
    draft.take(_user_values(path), "your configuration", lambda name: f"{name} in {path}")
    _take_workspace(draft, workspace)
    draft.take(_environment(draft.notes), "environment", lambda name: _PREFIX + name.upper())
    given = {name: value for name, value in (options or {}).items() if value is not None}
    draft.take(given, "option", lambda name: f"option {name}")
    return draft.finished()


def find_workspace(start: Path) -> tuple[Path, Sequence[str]]:
    """Return the nearest workspace from ``start`` upwards, else ``start`` itself, and notes for the person.

    A marker that belongs to another user, or that others may write, does not count: its author could choose which
    folder receives the person's prompts. A note names it.
    """
    start = start.absolute()
    notes: list[str] = []
    for folder in (start, *start.parents):
        own, foreign = own_markers(folder, MARKERS)
        notes += (
            f"{folder / marker} does not make {folder} a workspace: it belongs to another user, or others may write it"
            for marker in foreign
        )
        if own:
            return folder, notes
    return start, notes


class _Draft(Struct):
    """Settings that are being collected, from the weakest place to the strongest."""

    values: dict[str, Any] = field(default_factory=dict)
    origins: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    own: dict[str, Any] = field(default_factory=dict)
    """The settings that the person gave, without those of the workspace."""
    own_origins: dict[str, str] = field(default_factory=dict)

    def take(self, given: Mapping[str, Any], origin: str, describe: Callable[[str], str]) -> None:
        """Add settings that the person gave. ``describe`` returns the name of one in errors."""
        for name, value in given.items():
            self._set(name, value, origin, describe(name))

    def take_from_workspace(self, given: Mapping[str, Any], origin: str) -> None:
        """Add what a workspace may set, with notes about the rest; of many unknown names only the first few."""
        known = [name for name in given if name in SETTINGS or name in (*_OWN_TABLES, STATIC_LAYERS)]
        unknown = [name for name in given if name not in known]
        for name in (*known, *unknown[:_MAX_NOTES]):
            where = f"{cut(name)} in {origin}"
            if name in USER_ONLY or name in _OWN_TABLES:
                self.notes.append(
                    f"{where} is ignored: a workspace cannot set it; use a flag or your own configuration"
                )
                continue
            try:
                self._set(name, given[name], origin, where, of_workspace=True)
            except ConfigError as error:
                self.notes.append(f"{error} (ignored)")
        if len(unknown) > _MAX_NOTES:
            self.notes.append(f"{origin} sets {len(unknown) - _MAX_NOTES:,} more unknown settings (ignored)")

    def _set(self, name: str, value: object, origin: str, where: str, *, of_workspace: bool = False) -> None:
        if name == STATIC_LAYERS:
            from promptuary.config.static_layers import static_layers  # noqa: PLC0415  (few people have any)

            # Those of several places are merged; of one name, the person's counts.
            made = static_layers(value, where, of_workspace=of_workspace)
            before: tuple[StaticLayer, ...] = self.values.get(name, ())
            stay = [one for one in before if of_workspace and not one.of_workspace]
            new = [one for one in made if one.name not in {own.name for own in stay}]
            others = [one for one in before if one.name not in {own.name for own in (*new, *stay)}]
            self.values[name] = (*stay, *others, *new)
        else:
            if of_workspace and name in {"file_reference_base_dir", "instructions_folder"}:
                _check_inside(str(value), where)
            self.values[name] = setting_value(name, value, where)
        if not of_workspace:
            self.own[name], self.own_origins[name] = self.values[name], origin
        self.origins[name] = origin

    def finished(self) -> Settings:
        """Return the settings, with a note if tokens cannot be counted exactly for the model.

        Raises ``ConfigError`` for a model that is not known, unless a file of the workspace names it.
        """
        self._hold_window()
        settings = Settings(**self.values)
        known = known_model(settings.model)
        shown = cut(settings.model)
        if settings.model and known is None and not settings.window:
            if self.origins["model"] not in WORKSPACE_FILES:
                for_model(settings.model)
            self.notes.append(f"model {shown} in {self.origins['model']} is unknown: set window, too")
        self.notes += settings.counting_notes
        notes = tuple(map(one_line, self.notes))
        return Settings(**self.values, warnings=notes, origins=tuple(self.origins.items()))

    def _hold_window(self) -> None:
        """Limit the window of a workspace to that of the person: a workspace can lower it, and never raise it."""
        by_workspace = [name for name in ("window", "model") if self.origins.get(name) in WORKSPACE_FILES]
        if not by_workspace or not self.own.keys() & {"window", "model", "answer_model"}:
            return
        unset = {"window": 0, "model": ""}
        own = Settings(**self.values | unset | {name: self.own[name] for name in unset if name in self.own})
        window, limit = Settings(**self.values).effective_window, own.effective_window
        origin = self.origins[by_workspace[0]]
        if window > limit:
            self.values |= {name: getattr(own, name) for name in by_workspace}
            self.notes.append(
                f"{' and '.join(by_workspace)} in {origin} is ignored: a workspace can only lower your window, "
                f"{limit:,} tokens; use a flag or your own configuration"
            )
            for name in by_workspace:
                self.origins.pop(name)
                if name in self.own:
                    self.origins[name] = self.own_origins[name]
        elif window < limit:
            self.notes.append(f"{origin} lowers the window from {limit:,} to {window:,} tokens")


def user_file() -> Path | None:
    """Return the file of the person's own settings, which need not exist; ``None`` for a user without a home."""
    base = os.environ.get("XDG_CONFIG_HOME")
    try:
        return Path(base or Path.home() / ".config") / "promptuary" / "config.toml"
    except RuntimeError:  # a user without a home
        return None


def _user_values(path: Path | None) -> Mapping[str, Any]:
    if path is None:
        return {}
    try:
        with path.open(encoding="utf-8") as file:
            text = file.read(MAX_FILE_SIZE + 1)
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path} is not UTF-8 text; save it as UTF-8") from error
    if len(text) > MAX_FILE_SIZE:
        raise ConfigError(f"{path} is too large: a file of settings has at most 1 MB")
    return without_tables(parse_settings(text, str(path)), str(path))


def _take_workspace(draft: _Draft, workspace: Path) -> None:
    with Root(workspace) as root:
        for name in WORKSPACE_FILES:
            try:
                text = read_text(root, name, Access(max_bytes=MAX_FILE_SIZE, protected=None)).text
                draft.take_from_workspace(workspace_table(parse_settings(text, name), name), name)
            except SourceError as error:
                if error.code is not Code.NOT_FOUND:
                    draft.notes.append(
                        f"{name} is ignored ({error.code}): it must be a text file of at most 1 MB, not a link"
                    )
            except ConfigError as error:
                draft.notes.append(f"{error} (ignored)")


def _environment(notes: list[str]) -> Mapping[str, str]:
    """Return the settings in the environment. An empty variable counts as unset; a misspelled one is noted.

    A name that is not similar to a setting may belong to another program and is not mentioned.
    """
    found = {}
    for variable in sorted(os.environ):
        name = variable.removeprefix(_PREFIX).lower()
        name = SHORT_NAMES.get(name, name)
        if not variable.startswith(_PREFIX) or variable in _OTHERS or not os.environ[variable].strip():
            continue
        if name in SETTINGS and variable.isupper():
            found[name] = os.environ[variable]
        elif meant := nearest(name, SETTINGS):
            notes.append(f"{cut(variable)} in the environment is not a setting; did you mean {_PREFIX}{meant.upper()}?")
    return found


def _check_inside(path: str, where: str) -> None:
    """Raise ``ConfigError`` for a path that a workspace may not choose, since it leaves the workspace."""
    if path.startswith(("/", "~")) or ".." in path.split("/"):
        raise ConfigError(f"{where} leaves the workspace; use a flag or your own configuration")


def setting_value(name: str, value: object, where: str) -> object:
    """Return a value of a setting in its type. Raises ``ConfigError``, whose message begins with ``where``."""
    if name == _MODELS:
        from promptuary.config.named_models import named_models  # noqa: PLC0415  (few people name models)

        return named_models(value, where)
    if name == _GATEWAYS:
        from promptuary.config.gateways import named_gateways  # noqa: PLC0415  (few people have any)

        return named_gateways(value, where)
    if name == _MCP:
        from promptuary.config.tool_servers import named_servers  # noqa: PLC0415  (few people have any)

        return named_servers(value, where)
    if name == "database" and value:
        _check_database(str(value), where)
    if name == "instructions_budget" and value == "auto":
        return 0
    return convert(name, value, where, SETTINGS[check_setting(name, where)])


def _check_database(url: str, where: str) -> None:
    """Raise ``ConfigError`` for an address that is not PostgreSQL's, or has a password: settings are shown."""
    scheme, _, rest = url.partition("://")
    if scheme not in {"postgresql", "postgres"}:
        raise ConfigError(f"{where} must be an address of PostgreSQL: postgresql://USER@HOST/NAME")
    user, at, _ = rest.partition("/")[0].rpartition("@")
    if (at and ":" in user) or "password=" in rest:
        raise ConfigError(f"{where} has a password in it, which would be shown; put it into ~/.pgpass or PGPASSWORD")


def talking_to(settings: Settings, name: str) -> Settings:
    """Return ``settings`` with another answering model; its window and vocabulary apply, unless they were set."""
    other = replace(settings, model="", answer_model=name)
    told = [note for note in settings.warnings if note not in settings.counting_notes]
    return replace(other, warnings=(*told, *map(one_line, other.counting_notes)))


def limit_settings(settings: Settings, access: Access) -> Settings:
    """Return ``settings`` without what is the person's own, for others: layers that show files, and MCP servers."""
    if not access.is_limited:
        return settings
    # A file with an absolute path, or one in the home folder, is not in the workspace.
    standing = tuple(
        layer for layer in settings.static_layers if layer.of_workspace or not layer.file.startswith(("/", "~"))
    )
    folders = [
        folder if settings.origin(name) in WORKSPACE_FILES else ""
        for name, folder in (
            ("file_reference_base_dir", settings.file_reference_base_dir),
            ("instructions_folder", settings.instructions_folder),
        )
    ]
    return replace(
        settings,
        static_layers=standing,
        mcp=(),
        allow_sensitive=(),
        file_reference_follow_symlinks=False,
        file_reference_base_dir=folders[0],
        instructions_folder=folders[1],
    )
