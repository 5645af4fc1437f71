"""Answers the requests of the page: reads them, calls the page of the address, and sends HTML, or JSON for ``.json``.

Who may ask was decided before (``guard``), of forms also where they come from and whose they are.
"""

import asyncio
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import parse_qsl, quote, unquote

from promptuary.api.operations import encode
from promptuary.api.problems import problem_of
from promptuary.api.values import CallAnswer
from promptuary.base import concurrency
from promptuary.base.errors import PromptuaryError
from promptuary.engine import Promptuary
from promptuary.server.asgi import Receive, Scope, Send, find_session, read_body, send_answer, until_gone, values
from promptuary.server.clients import Clients
from promptuary.server.errors import Refusal
from promptuary.server.events import stream
from promptuary.server.jobs import Jobs
from promptuary.server.page import layout
from promptuary.server.page.layout import HEADERS, form_token
from promptuary.server.page.once import Secrets
from promptuary.server.page.pages import HOME, LIVE, PAGES, SIGN_IN, SIGN_OUT, STATIC, TWIN
from promptuary.server.page.static import static_files
from promptuary.server.page.streams import SilentRun, StreamedRun
from promptuary.server.page.view import Asked, Consent, Redirect, Run, View
from promptuary.server.running import Running
from promptuary.server.runs import Runs
from promptuary.server.tokens import Token, TokenStore
from promptuary.server.workspaces import Workspaces

_MAX_FORM: Final = 4 << 20
_MAX_FIELDS: Final = 200
_MAX_KEPT: Final = _MAX_FORM + (64 << 10)
"""The most bytes of a form to sign in with the fields of another form: their names are longer there."""
_NOT_TYPED: Final = frozenset({"back", "do", "number", "old", "opened", "pasted", "rev", "stream"})
"""Fields that nobody types: what a button means, and what a form was opened with."""
_KEPT: Final = "kept."
"""What the names of fields begin with that were typed before a session ended."""
_MAX_SIGN_INS: Final = 4
"""How many try to sign in at once: whoever guesses must not take the threads of others."""
_HTML: Final = b"text/html; charset=utf-8"
_NO_STORE: Final = (b"cache-control", b"no-store")
_FOR_EVER: Final = (b"cache-control", b"public, max-age=31536000, immutable")
_TITLES: Final = {401: "Sign in", 403: "Not allowed", 404: "Nothing here", 409: "Not possible now", 413: "Too much"}
_PAGES: Final = {f"{page.method} {page.path}": page for page in PAGES}
_NAV: Final = tuple((page.nav, page.path) for page in PAGES if page.nav)


class PageArea:
    """The application of the page. ``cookie`` is its name; it ``is_secure`` if it is only sent over TLS."""

    def __init__(
        self, workspaces: Workspaces, store: TokenStore, runs: Runs, clients: Clients, cookie: str, *, is_secure: bool
    ) -> None:
        self._workspaces, self._store, self._runs, self._clients = workspaces, store, runs, clients
        self._cookie, self._is_secure = cookie, is_secure
        self._jobs = Jobs(workspaces)
        self._secrets = Secrets()
        self._running = Running()
        """What runs for each session, to be ended when that is signed out."""
        self._sign_ins = asyncio.Semaphore(_MAX_SIGN_INS)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        path = scope["promptuary.request"].match.route.path
        send = with_headers(send)
        if path.startswith(STATIC):
            await _send_static(scope, send)
        elif path == SIGN_IN:
            await self._sign_in(scope, receive, send)
        elif path == SIGN_OUT:
            await self._sign_out(scope, receive, send)
        elif path == HOME:
            await _redirect(send, self._url(scope, _NAV[0][1]))
        elif path == LIVE:
            await self._send_events(scope, receive, send)
        else:
            await self._answer(scope, receive, send)

    async def shutdown(self) -> None:
        """Stop what goes on after the requests."""
        await self._jobs.shutdown()

    # Pages

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = scope["promptuary.request"]
        path = request.match.route.path
        is_json = path.endswith(TWIN) and request.match.route.method == "GET"
        page = _PAGES[f"{request.match.route.method} {path.removesuffix(TWIN) if is_json else path}"]
        form = await self._read_form(scope, receive) if page.method == "POST" else {}
        token: Token = scope["promptuary.token"]
        names = [name for name in self._workspaces.names if not token.workspaces or name in token.workspaces]
        found: View | Redirect | Consent | None
        if not request.workspace:
            raise Refusal(404, "choose a workspace")
        try:
            async with self._workspaces.of(token, request.workspace) as workspace:
                asked = self._asked(scope, workspace, names, form)
                # Before anything is read: what changes from now on is told by the stream of the page.
                since = "" if is_json or form else (await workspace.changes()).cursor
                answer = await page.answer(asked)
                if isinstance(answer, Run):
                    with self._running.of(scope.get("promptuary.session", "")):
                        found = await self._run(answer, asked, receive, send)
                else:
                    found = answer
        except PromptuaryError as error:
            problem = problem_of(error)
            # A remote client does not learn where on this machine the workspace is.
            root = str(self._workspaces.folders[request.workspace])
            raise Refusal(problem.status, problem.detail.replace(root, f"/{request.workspace}")) from error
        if found is None:
            return
        if isinstance(found, Consent):
            self._runs.answer_call(token, found.run, found.call, CallAnswer(agreed=found.agreed))
            await send_answer(send, 204, b"", _HTML, [_NO_STORE])
        elif isinstance(found, Redirect):
            await _redirect(send, found.address)
        elif is_json:
            await send_answer(send, found.status, await concurrency.run(lambda: encode(found.value)), more=[_NO_STORE])
        else:
            shown = await concurrency.run(lambda: _show(found, asked, scope.get("promptuary.session", ""), since))
            await send_answer(send, found.status, shown, _HTML, [_NO_STORE])

    async def _run(self, run: Run, asked: Asked, receive: Receive, send: Send) -> Redirect | None:
        """Let a model answer, and return where to go then, unless the answer was streamed."""
        if run.is_streamed:
            await self._runs.answer(asked.workspace, asked.token, run.arguments, receive, StreamedRun(send))
            return None
        silent = SilentRun(send)
        await self._runs.answer(asked.workspace, asked.token, run.arguments, receive, silent)
        if silent.problem is not None:
            raise Refusal(silent.problem.status, silent.problem.detail, code=silent.problem.code)
        return Redirect(run.following)

    def _asked(self, scope: Scope, workspace: Promptuary, names: list[str], form: Mapping[str, str]) -> Asked:
        request = scope["promptuary.request"]
        return Asked(
            workspace=workspace,
            token=scope["promptuary.token"],
            store=self._store,
            clients=self._clients,
            jobs=self._jobs,
            secrets=self._secrets,
            session=scope.get("promptuary.session", "") or scope["promptuary.token"].id,
            name=request.workspace,
            names=names,
            root=self._root(scope),
            path=request.match.path,
            parts={name: unquote(value, errors="replace") for name, value in request.match.parts.items()},
            query=_fields(scope["query_string"]),
            form=form,
        )

    async def _read_form(self, scope: Scope, receive: Receive) -> Mapping[str, str]:
        """Return the fields of a form, which must have come from a page of this session."""
        fields = await keep_form(scope, receive)
        session = scope.get("promptuary.session", "")
        # A request with a token has no session, and nobody else can send one.
        if session and not layout.is_form_token(session, fields.get("form_token", "")):
            raise Refusal(403, "this form is of another session, so nothing was done: send it once more")
        return fields

    async def _send_events(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = scope["promptuary.request"]
        last = values(scope["headers"], b"last-event-id")
        after = last[0].decode("latin-1") if last else _fields(scope["query_string"]).get("after", "")
        with self._running.of(scope.get("promptuary.session") or scope["promptuary.token"].id):
            async with self._workspaces.of(scope["promptuary.token"], request.workspace) as workspace:
                await until_gone(receive, stream(workspace, after, send))

    def _root(self, scope: Scope) -> str:
        named = scope["promptuary.request"].match.workspace
        return "" if named is None else f"/w/{named}"

    def _url(self, scope: Scope, path: str) -> str:
        return self._root(scope) + path

    # Signing in and out

    async def _sign_in(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Start a session for the code of a link, or for a token that was typed; without either, ask for one."""
        if scope["method"] == "POST":
            fields = _fields(await read_body(scope, receive, most=_MAX_KEPT), _MAX_FIELDS + 3)
            secret = fields.get("token", "").strip()
            async with self._sign_ins:
                session = await concurrency.run(lambda: self._session_of(secret) if secret else self._known(scope))
            wrong = "this server has no such token, or it has expired or was revoked"
            wrong = wrong if secret else "you are not signed in yet: type a token, or open a link first"
        else:
            fields = _fields(scope["query_string"])
            code = fields.get("code", "")
            async with self._sign_ins:
                session = await concurrency.run(lambda: self._store.redeem(code)) if code else ""
            wrong = "this link was used already, or is older than five minutes; promptuary open makes another" * bool(
                code
            )
        goal = _local(fields.get("next", ""))
        typed = {name.removeprefix(_KEPT): value for name, value in fields.items() if name.startswith(_KEPT)}
        if not session:
            page = _sign_in_page(wrong, goal, typed)
            await send_answer(send, 401 if wrong else 200, page, _HTML, [_NO_STORE])
            return
        cookie = f"{self._cookie}={session}; Path=/; HttpOnly; SameSite=Strict{'; Secure' * self._is_secure}"
        # A browser sends such a cookie only if the last page was of this server: this page leads on.
        page = _again_page(_ENDED, goal, typed, session) if typed else layout.render("forward.html", {"next": goal})
        await send_answer(send, 200, page, _HTML, [_NO_STORE, (b"set-cookie", cookie.encode())])

    def _known(self, scope: Scope) -> str:
        """Return the session of a browser that was signed in meanwhile, "" if it is not."""
        session = find_session(scope["headers"], self._cookie)
        return session if self._store.find_session(session) else ""

    def _session_of(self, secret: str) -> str:
        token = self._store.find(secret)
        return "" if token is None else self._store.start_session(token.id)

    async def _sign_out(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._read_form(scope, receive)
        session = scope.get("promptuary.session", "")
        await concurrency.run(lambda: self._store.end_session(session))
        self._running.end([session])
        gone = f"{self._cookie}=; Path=/; Max-Age=0; HttpOnly; SameSite=Strict{'; Secure' * self._is_secure}"
        await _redirect(send, SIGN_IN, [(b"set-cookie", gone.encode())])


def with_headers(send: Send) -> Send:
    """Return a ``send`` that adds the headers of every answer of the page."""

    async def sending(message: Any) -> None:
        if message["type"] == "http.response.start":
            message = {**message, "headers": [*message["headers"], *HEADERS]}
        await send(message)

    return sending


async def keep_form(scope: Scope, receive: Receive) -> Mapping[str, str]:
    """Return the fields of a form, and keep what was typed for the page that says why it is refused."""
    fields = _fields(await read_body(scope, receive, most=_MAX_FORM))
    scope["promptuary.typed"] = {name: value for name, value in fields.items() if name != "form_token"}
    return fields


def refusal_page(scope: Scope, refusal: Refusal) -> bytes:
    """Return the page that says why a request is refused, and what to do; without a session, one to sign in.

    What was typed into a form is on it, to be sent again.
    """
    typed: Mapping[str, str] = scope.get("promptuary.typed", {})
    session = scope.get("promptuary.session", "")
    has_text = any(map(str.strip, typed.values()))
    path = scope["raw_path"].decode("latin-1")
    if refusal.status == 401:
        target = path if scope["method"] == "GET" or has_text else ""
        query = scope["query_string"].decode("latin-1")
        goal = _local(target + f"?{query}" * bool(query))
        return _sign_in_page(_ENDED if has_text else "", goal, typed if has_text else {})
    if has_text and session:
        return _again_page(refusal.message, _local(path), typed, session)
    title = _TITLES.get(refusal.status, "That did not work")
    return layout.render("error.html", {"title": title, "message": refusal.message, "status": refusal.status})


_ENDED: Final = "this was not sent: your session had ended"


def _sign_in_page(problem: str, goal: str, typed: Mapping[str, str]) -> bytes:
    """Return the page to sign in; the fields of a form that was sent to ``goal`` meanwhile go along."""
    kept = [(f"{_KEPT}{name}", value) for name, value in typed.items()]
    return layout.render("sign_in.html", {"problem": problem, "next": goal, "kept": kept})


def _again_page(problem: str, goal: str, typed: Mapping[str, str], session: str) -> bytes:
    """Return the page with what was typed into a form, which is sent again only if somebody presses its button."""
    state = {"problem": problem, "goal": goal, "typed": typed, "hidden": _NOT_TYPED, "form_token": form_token(session)}
    return layout.render("again.html", state)


def forward_page(scope: Scope) -> bytes:
    """Return the page that leads to the same address: to a request from elsewhere, browsers add no cookie."""
    query = scope["query_string"].decode("latin-1")
    return layout.render(
        "forward.html", {"next": _local(scope["raw_path"].decode("latin-1") + f"?{query}" * bool(query))}
    )


def _show(view: View, asked: Asked, session: str, since: str) -> bytes:
    values = {
        "since_change": since,
        "value": view.value,
        "asked": asked,
        "url": asked.url,
        "root": asked.root,
        "nav": [(name, asked.root + path, asked.path.startswith(path)) for name, path in _NAV],
        "session": session,
        "form_token": form_token(session) if session else "",
        **view.more,
    }
    return layout.render(view.template, values)


async def _send_static(scope: Scope, send: Send) -> None:
    file = static_files().get(scope["promptuary.request"].match.parts["name"])
    if file is None:
        raise Refusal(404, "there is no such file")
    headers = [_FOR_EVER, (b"etag", file.etag), (b"vary", b"accept-encoding")]
    if file.etag in values(scope["headers"], b"if-none-match"):
        await send_answer(send, 304, b"", file.content_type, headers)
        return
    packs = any(b"gzip" in value for value in values(scope["headers"], b"accept-encoding"))
    headers += [(b"content-encoding", b"gzip")] if packs else []
    await send_answer(send, 200, file.packed if packs else file.body, file.content_type, headers)


async def _redirect(send: Send, where: str, more: list[tuple[bytes, bytes]] | None = None) -> None:
    headers = [(b"location", quote(where, safe="/:?#[]@!$&'()*+,;=%~").encode()), _NO_STORE, *(more or [])]
    await send_answer(send, 303, b"", _HTML, headers)


def _fields(text: bytes, most: int = _MAX_FIELDS) -> dict[str, str]:
    """Return the fields of a query or a form; of those that are given twice, the last."""
    try:
        return dict(parse_qsl(text.decode("latin-1"), keep_blank_values=True, errors="replace", max_num_fields=most))
    except ValueError as error:
        raise Refusal(400, f"a page takes at most {most} fields") from error


def _local(where: str) -> str:
    """Return an address of this server, or the first page: nobody is led elsewhere."""
    is_own = where.startswith("/") and not where.startswith(("//", "/\\")) and where.isprintable()
    return where if is_own else HOME
