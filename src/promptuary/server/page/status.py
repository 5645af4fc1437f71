"""The state of a workspace and of its server: the index, models, what a check finds, limits, and who uses the proxy."""

from collections.abc import Sequence
from typing import Any, Final

from msgspec import Struct, to_builtins

from promptuary.base.errors import ConfigError
from promptuary.config.settings import Settings
from promptuary.models.protocols import ModelInfo
from promptuary.search.values import FolderStatus, IndexStatus
from promptuary.server.clients import ClientUse
from promptuary.server.jobs import Job
from promptuary.server.page.view import Asked, Page, Redirect, View
from promptuary.server.tokens import Limits, Token, Use

_PATH: Final = "/status"


class ChatModelStatus(Struct, frozen=True):
    """A chat model that a token may use. ``problem`` is why it cannot be used; where it is, nobody is told here."""

    name: str
    provider: str = ""
    model: str = ""
    window: int = 0
    answers: bool = False
    problem: str = ""


class LimitUse(Struct, frozen=True):
    """How much of something a token used today, of how much; ``None`` is no limit."""

    what: str
    used: float
    most: float | None


async def overview(asked: Asked) -> View:
    """Show how the index, the models, the limits and the clients are, and what the last check found."""
    workspace, token = asked.workspace, asked.token
    index = shown_index(await workspace.search.status(), str(workspace.path))
    indexing, checking = asked.jobs.indexing(asked.name), asked.jobs.checking(asked.name, token)
    use = await asked.run(lambda: asked.store.use_today(token))
    clients = shown_clients(asked.clients.list(), token)
    value = {
        "index": to_builtins(index),
        "indexing": _job_value(indexing),
        "check": _job_value(checking),
        "models": to_builtins(await _fetched_models(asked)),
        "chat_models": to_builtins(chat_models(workspace.settings, token)),
        "limits": to_builtins(limits_used(token.limits, use)),
        "clients": [client_value(client) for client in clients],
        "notes": [asked.hide(note) for note in workspace.settings.warnings],
    }
    more = {
        "check_job": checking,
        "busy": any(job is not None and job.is_running for job in (indexing, checking)),
        "is_admin": "admin" in token.scopes,
        "may_write": "write" in token.scopes,
    }
    return View("status/overview.html", value, more)


async def index(asked: Asked) -> Redirect:
    """Bring the index up to date; of a workspace without one, index all of it."""
    asked.jobs.index(asked.name, asked.token)
    return Redirect(asked.url(_PATH))


async def check(asked: Asked) -> Redirect:
    """Check the workspace, and repair what can be without loss if that was asked for."""
    asked.jobs.check(asked.name, asked.token, fix=bool(asked.form.get("fix")))
    return Redirect(asked.url(_PATH))


def shown_index(found: IndexStatus, root: str) -> IndexStatus:
    """Return the status of an index without where on the machine its folders are. Pure."""
    folders = [
        FolderStatus(_shown_folder(folder.path, root), folder.label, folder.files, folder.missing)
        for folder in found.folders
    ]
    return IndexStatus(tuple(folders), found.counts, found.embedder)


def _shown_folder(path: str, root: str) -> str:
    if path == root:
        return "the workspace"
    return path.removeprefix(f"{root}/") if path.startswith(f"{root}/") else f"…/{path.rpartition('/')[2]}"


def limits_used(limits: Limits, use: Use) -> Sequence[LimitUse]:
    """Return what a token used today, beside its limits. Pure."""
    return [LimitUse(what, getattr(use, what), getattr(limits, what)) for what in Limits.__struct_fields__]


def shown_clients(clients: Sequence[ClientUse], token: Token) -> Sequence[ClientUse]:
    """Return the clients that a token may know of: those of its principal, or for ``admin`` all of them. Pure."""
    return [one for one in clients if "admin" in token.scopes or one.token.principal.owner == token.principal.owner]


def client_value(client: ClientUse) -> dict[str, Any]:
    """Return what a client did, with the name of its token."""
    value: dict[str, Any] = to_builtins(client)
    return {**value, "token": {"id": client.token.id, "name": client.token.name}}


def chat_models(settings: Settings, token: Token) -> Sequence[ChatModelStatus]:
    """Return the chat models that a token may use. Pure."""
    named = [model.name for model in settings.models]
    names = token.models or tuple(dict.fromkeys([*named, *filter(None, [settings.answer_model])]))
    return [_chat_model(settings, name) for name in names]


def _chat_model(settings: Settings, name: str) -> ChatModelStatus:
    answers = name == settings.answer_model
    try:
        found = settings.chat(name)
    except ConfigError:
        return ChatModelStatus(name, answers=answers, problem="it is not configured")
    return ChatModelStatus(name, found.provider, found.model, found.window, answers)


async def _fetched_models(asked: Asked) -> Sequence[ModelInfo]:
    """Return the models for search by meaning, without where they are."""
    found = await asked.workspace.models.list()
    return [ModelInfo(one.name, one.kind, one.repository, "", one.installed, one.size, one.languages) for one in found]


def _job_value(job: Job | None) -> dict[str, Any] | None:
    if job is None:
        return None
    value: dict[str, Any] = to_builtins(job)
    value["found"] = None if job.found is None else {"findings": len(job.found.findings), "well": job.found.is_well}
    return {**value, "is_running": job.is_running}


PAGES: Final = (
    Page("GET", _PATH, overview, nav="Status"),
    Page("POST", f"{_PATH}/index", index, scope="write"),
    Page("POST", f"{_PATH}/check", check, scope="write"),
)
