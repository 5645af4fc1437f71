"""``promptuary token``: creates, lists and revokes the tokens of ``promptuary serve``."""

import argparse
import os
from collections.abc import Sequence
from contextlib import closing
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any, Final

from msgspec import to_builtins

from promptuary.base.clock import now
from promptuary.base.errors import ConfigError, PromptuaryError
from promptuary.base.principals import DEFAULT_AGENT, LOCAL, LOCAL_USER, Principal
from promptuary.base.text import list_names, one_line
from promptuary.cli.common import print_json
from promptuary.cli.memory.printing import DONE, NOTHING, cut_table, say
from promptuary.cli.parsing import did_you_mean
from promptuary.cli.threads.delete import age
from promptuary.config.named_models import find_model
from promptuary.config.settings import load
from promptuary.server.tokens import Limits, Token, TokenStore, Use
from promptuary.workspace.access import OPEN_KINDS, REMOTE_KINDS, WORKSPACE

_DAY: Final = len("2026-01-31")
_NONE_YET: Final = "no tokens yet: promptuary token create NAME makes one"


def main(options: argparse.Namespace) -> int:
    """Run one action on tokens."""
    return {"create": create, "list": list_tokens, "revoke": revoke}[options.action](options)


def create(options: argparse.Namespace) -> int:
    """Create a token; its secret alone goes to standard output."""
    with closing(TokenStore.open()) as store:
        token, secret = store.create(_asked_token(options))
        at = now()
        namesakes = [each.id for each in store.list() if each.name == token.name and each.state(at) == "active"]
    for name in _unknown_models(token.models):
        say(
            f"note: no model is called {one_line(name)[:80]} here: write [models.NAME] into the configuration of the "
            "server, or it can be used only with a key of the client's own",
            quiet=options.quiet,
        )
    if len(namesakes) > 1:
        ids = list_names(namesakes)
        say(
            f"note: {len(namesakes)} tokens have this name, and are told apart by their ids: {ids}", quiet=options.quiet
        )
    if options.json:
        print_json({"token": _token_json(token, Use()), "secret": secret})
        return DONE
    print(secret, flush=True)
    say(
        f"created the token {one_line(token.name)} ({token.id}); its secret is not stored and not printed again. "
        "Clients send it as their API key (Authorization: Bearer, or x-api-key), or as X-Promptuary-Token beside a key "
        f"of their own. promptuary token revoke {token.id} ends it",
        quiet=options.quiet,
    )
    return DONE


def list_tokens(options: argparse.Namespace) -> int:
    """Print the tokens and what they used today."""
    at = now()
    rows = [(token, use) for token, use in _stored() if options.all or token.state(at) == "active"]
    if options.json:
        print_json({"tokens": [_token_json(token, use) for token, use in rows]})
    elif rows:
        titles = ("id", "state", "user", "scopes", "expires", "last used", "today", "name")
        print(cut_table(titles, [_row(token, use, at) for token, use in rows]))
    else:
        say(_NONE_YET if not _stored() else "no active tokens: promptuary token list --all lists those that ended")
    return DONE if rows else NOTHING


def revoke(options: argparse.Namespace) -> int:
    """Revoke a token by its id or name."""
    at = now()
    active = [token for token, _ in _stored() if token.state(at) != "revoked"]
    named = [token for token in active if token.id == options.token]
    named = named or [token for token in active if token.name == options.token]
    if not named:
        near = did_you_mean(options.token, [name for token in active for name in (token.name, token.id)])
        say(f"promptuary: there is no token {one_line(options.token)!r} that is not revoked{near}")
        return NOTHING
    if len(named) > 1:
        ids = list_names([token.id for token in named])
        raise PromptuaryError(f"{len(named)} tokens are called {options.token!r}; revoke one by its id: {ids}")
    (token,) = named
    with closing(TokenStore.open()) as store:
        store.revoke(token.id)
    if options.json:
        print_json({"revoked": token.id})
    else:
        say(f"revoked {one_line(token.name)} ({token.id})", quiet=options.quiet)
    return DONE


def _stored() -> Sequence[tuple[Token, Use]]:
    if not TokenStore.default_path().exists():  # a question creates nothing
        return []
    with closing(TokenStore.open()) as store:
        return [(token, store.use_today(token)) for token in store.list()]


def _asked_token(options: argparse.Namespace) -> Token:
    user = LOCAL_USER if options.user is None else options.user
    principal = Principal(user, DEFAULT_AGENT if options.agent is None else options.agent, options.group)
    kinds, folders = _access(options, principal)
    return Token(
        id="",
        name=options.name,
        principal=principal,
        scopes=frozenset(options.scope or ("proxy",)),
        models=tuple(options.model or ()),
        workspaces=tuple(options.workspace or ()),
        kinds=kinds,
        folders=folders,
        hosts=frozenset(host.lower() for host in options.host or ()),
        limits=Limits(options.requests_per_day, options.tokens_per_day, options.money_per_day),
        record=options.record,
        mode=options.mode,
        expires=_time(options.expires) if options.expires is not None else "",
    )


def _unknown_models(names: Sequence[str]) -> list[str]:
    """Return the names that are neither of configured models nor of a known provider's."""
    unknown: list[str] = []
    try:
        models = load(Path.cwd(), {}).models if names else ()
    except ConfigError:  # reported by the commands that need it
        return unknown
    for name in names:
        try:
            find_model(name, models, os.environ)
        except ConfigError:
            unknown.append(name)
    return unknown


def _access(options: argparse.Namespace, principal: Principal) -> tuple[frozenset[str] | None, tuple[str, ...]]:
    """Return the kinds and the folders that messages may refer to: all for the person here, unless some are named."""
    kinds = frozenset(options.kind or ())
    folders = tuple(WORKSPACE if folder == "." else folder.strip("/") for folder in options.folder or ())
    if not kinds and not folders:
        is_own = (principal.user, principal.group) == (LOCAL.user, None)
        return (None if is_own and not options.host else OPEN_KINDS), ()
    if kinds - OPEN_KINDS and not folders:
        folders = (WORKSPACE,)  # a kind of files or of git was named, and no folder
    return kinds or REMOTE_KINDS, folders


def _time(text: str) -> str:
    """Return when a token expires: after an age, or when a day begins."""
    try:
        if text[:1].isdecimal() and "-" in text:
            day = datetime.combine(date.fromisoformat(text), datetime.min.time(), UTC)
        else:
            day = datetime.now(UTC) + timedelta(days=age(text, "--expires"))
    except (ValueError, OverflowError) as error:
        raise PromptuaryError(f"--expires {text[:60]!r} is no date; write 30d, 12w, 6m, 1y or 2026-01-31") from error
    return day.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _row(token: Token, use: Use, at: str) -> tuple[str, ...]:
    today = f"{use.requests:,} requests, {use.tokens:,} tokens" + (f", {use.money:.2f}" if use.money else "")
    return (
        token.id,
        token.state(at),
        one_line(token.principal.user),
        " ".join(sorted(token.scopes)),
        token.expires[:_DAY] or "never",
        token.last_used or "never",
        today if use != Use() else "nothing",
        one_line(token.name),
    )


def _token_json(token: Token, use: Use) -> dict[str, Any]:
    lists = {"scopes": sorted(token.scopes), "kinds": None if token.kinds is None else sorted(token.kinds)}
    return {**to_builtins(token), **lists, "state": token.state(now()), "today": to_builtins(use)}
