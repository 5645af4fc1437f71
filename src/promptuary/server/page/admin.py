"""What only ``admin`` sees of a server: its tokens, and the settings of a workspace.

Settings that widen what may be read or sent cannot be changed here, and values that may hold a secret are not shown.
"""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from msgspec import Struct, to_builtins

from promptuary.api.problems import problem_of
from promptuary.base.clock import now
from promptuary.base.errors import ConfigError, PromptuaryError
from promptuary.base.principals import DEFAULT_AGENT, LOCAL, Principal
from promptuary.config.edit import settings_file
from promptuary.config.settings import SETTINGS, USER_ONLY, Settings, check_setting, setting_help
from promptuary.server.errors import Refusal
from promptuary.server.page.view import Asked, Page, Redirect, View
from promptuary.server.tokens import SCOPES, Limits, Token, TokenStore, Use
from promptuary.workspace.access import OPEN_KINDS

_TOKENS: Final = "/status/tokens"
_SETTINGS: Final = "/status/settings"
_SECRET_ENDS: Final = ("_url", "_key")
_SECRET: Final = frozenset({"allow_sensitive", "database", "server"})
_MAX_DAYS: Final = 3650


class SettingRow(Struct, frozen=True):
    """A setting. ``is_hidden``: its value may hold a secret and is not shown; ``may_change``: it can be set here."""

    name: str
    value: str
    origin: str
    help: str
    is_hidden: bool
    may_change: bool


# Tokens


async def tokens(asked: Asked) -> View:
    """Show every token with what it used today, and the secret of the one that was just made."""
    made = asked.query.get("made", "")
    return await _tokens(asked, {"made": made, "secret": asked.secrets.take(asked.session, made)})


async def create_token(asked: Asked) -> View | Redirect:
    """Create a token, whose secret the next page shows: that once."""
    try:
        token = asked_token(asked)
        made, secret = await asked.run(lambda: asked.store.create(token))
    except PromptuaryError as error:
        problem = problem_of(error)
        return await _tokens(asked, {"typed": asked.form, "problem": asked.hide(problem.detail)}, problem.status)
    asked.secrets.put(asked.session, made.id, secret)
    return Redirect(asked.url(_TOKENS, made=made.id))


async def revoke_token(asked: Asked) -> View | Redirect:
    """Revoke a token: its sessions end at once, and what runs with it within a second; of one's own, ask first."""
    token_id = asked.parts["token"]
    if token_id == asked.token.id and asked.form.get("confirm") != "yes":
        return View("status/revoke.html", {"token": asked.token.id})
    if not await asked.run(lambda: asked.store.revoke(token_id)):
        raise Refusal(404, "there is no such token, or it was revoked already")
    return Redirect(asked.url(_TOKENS))


async def _tokens(asked: Asked, more: dict[str, Any], status: int = 200) -> View:
    value = await asked.run(lambda: _token_values(asked.store))
    typed: Mapping[str, str] = {"scope_read": "yes"}
    state = {"made": "", "secret": "", "typed": typed, "problem": "", "own": asked.token, **more}
    return View("status/tokens.html", {"tokens": value}, state, status)


def _token_values(store: TokenStore) -> Sequence[dict[str, Any]]:
    at = now()
    return [_token_value(token, store.use_today(token), at) for token in reversed(store.list())]


def _token_value(token: Token, use: Use, at: str) -> dict[str, Any]:
    lists = {"scopes": sorted(token.scopes), "kinds": None if token.kinds is None else sorted(token.kinds)}
    return {**to_builtins(token), **lists, "state": token.state(at), "today": to_builtins(use)}


def asked_token(asked: Asked) -> Token:
    """Return the token that a form asks for. Raises ``ConfigError``, also if it could do more than that of who asks."""
    form, own = asked.form, asked.token
    scopes = frozenset(scope for scope in SCOPES if form.get(f"scope_{scope}"))
    workspaces = tuple(name for name in asked.names if form.get(f"workspace_{name}"))
    models = tuple(form.get("models", "").replace(",", " ").split())
    if extra := scopes - own.scopes:
        raise ConfigError(f"your own token does not have the scope {min(extra)}, so it cannot give it away")
    if own.models and not (models and set(models) <= set(own.models)):
        raise ConfigError(f"name models that your own token may use: {', '.join(own.models)}")
    user = form.get("user", "").strip() or LOCAL.user
    principal = Principal(user, form.get("agent", "").strip() or DEFAULT_AGENT)
    return Token(
        id="",
        name=form.get("name", "").strip(),
        principal=principal,
        scopes=scopes,
        models=models,
        workspaces=workspaces or own.workspaces,
        # The person here may refer to whatever there is; others to nothing of the workspace, unless a folder is named.
        kinds=own.kinds if principal.user == LOCAL.user else OPEN_KINDS,
        folders=own.folders if principal.user == LOCAL.user else (),
        hosts=own.hosts if principal.user == LOCAL.user else frozenset(),
        limits=Limits(_whole(asked, "requests"), _whole(asked, "tokens"), _money(form.get("money", ""))),
        expires=_expiry(asked),
    )


def _whole(asked: Asked, name: str) -> int | None:
    text = asked.form.get(name, "").strip().replace(",", "")
    return asked.number(f"{name} a day", text) if text else None


def _money(text: str) -> float | None:
    try:
        return float(text) if text.strip() else None
    except ValueError as error:
        raise ConfigError(f"money a day must be a number, not {text[:20]!r}") from error


def _expiry(asked: Asked) -> str:
    text = asked.form.get("days", "").strip()
    if not text:
        return ""
    days = asked.number("the days until a token expires", text)
    if not 0 < days <= _MAX_DAYS:
        raise ConfigError(f"a token expires in 1 to {_MAX_DAYS} days, or never")
    later = datetime.now(UTC) + timedelta(days=days)
    return later.isoformat(timespec="milliseconds").replace("+00:00", "Z")


# Settings


async def settings(asked: Asked) -> View:
    """Show every setting with where it comes from."""
    return await _settings(asked)


async def _settings(asked: Asked, wrong: str = "", problem: str = "", status: int = 200) -> View:
    """Show the settings; ``wrong`` is one that was not changed, with what was typed, and why."""
    rows = setting_rows(asked.workspace.settings)
    value = {"settings": to_builtins(rows), "notes": [asked.hide(note) for note in asked.workspace.settings.warnings]}
    saved = asked.query.get("saved", "")
    more = {"saved": saved if saved in SETTINGS else "", "wrong": wrong, "problem": problem}
    return View("status/settings.html", value, {**more, "typed": asked.form.get("value", "")}, status)


async def change_setting(asked: Asked) -> View | Redirect:
    """Write a setting into the file of the workspace, which may not set what widens what is read or sent."""
    name = check_setting(asked.form.get("name", ""), "this")
    if not _may_change(name):
        raise Refusal(
            403, f"{name} cannot be changed on this page; on the machine of the server, promptuary config can"
        )
    value = asked.form.get("value", "").strip()
    words: str | list[str] = value.split() if isinstance(SETTINGS[name], tuple) else value
    root = asked.workspace.path
    try:
        await asked.run(lambda: settings_file(root, here=True).set(name, words))
    except PromptuaryError as error:
        problem = problem_of(error)
        return await _settings(asked, name, asked.hide(problem.detail), problem.status)
    return Redirect(asked.url(_SETTINGS, saved=name))


def setting_rows(found: Settings) -> Sequence[SettingRow]:
    """Return every setting as this page shows it. Pure."""
    return [_setting_row(found, name) for name in sorted(SETTINGS)]


def _setting_row(found: Settings, name: str) -> SettingRow:
    value = getattr(found, f"effective_{name}" if name in {"window", "vocabulary"} else name)
    is_hidden = value != SETTINGS[name] and (name in _SECRET or name.endswith(_SECRET_ENDS))
    return SettingRow(
        name, "" if is_hidden else _spelled(value), found.origin(name), setting_help(name), is_hidden, _may_change(name)
    )


def _may_change(name: str) -> bool:
    return name not in USER_ONLY and name not in _SECRET and not name.endswith(_SECRET_ENDS)


def _spelled(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return " ".join(map(str, value)) if isinstance(value, tuple) else str(value)


PAGES: Final = (
    Page("GET", _TOKENS, tokens, scope="admin"),
    Page("POST", _TOKENS, create_token, scope="admin"),
    Page("POST", f"{_TOKENS}/{{token}}/revoke", revoke_token, scope="admin"),
    Page("GET", _SETTINGS, settings, scope="admin"),
    Page("POST", _SETTINGS, change_setting, scope="admin"),
)
