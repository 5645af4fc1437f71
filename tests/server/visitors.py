"""A browser without JavaScript: it keeps cookies, follows redirects, and says where its requests come from."""

import re
from collections.abc import Mapping
from html import unescape
from typing import Any
from urllib.parse import urlencode

from promptuary.base.principals import LOCAL, Principal
from promptuary.server.tokens import SCOPES, Token
from tests.served import Answer, RunningServer


class Visitor:
    """Somebody with a browser, signed in with a new token unless ``signed_in`` is false."""

    def __init__(
        self, server: RunningServer, principal: Principal = LOCAL, *, signed_in: bool = True, **about: object
    ) -> None:
        self.server, self.cookie = server, ""
        rights: dict[str, Any] = {"name": "visitor", "principal": principal, "scopes": frozenset(SCOPES), **about}
        self.token, self.secret = server.store.create(Token("", **rights))
        if signed_in:
            self.send("/sign-in", token=self.secret)

    def get(self, path: str, **headers: str) -> Answer:
        """Load a page."""
        return self._ask("GET", path, {"sec-fetch-site": "none", **self._named(headers)}, None)

    def send(self, path: str, headers: Mapping[str, str] | None = None, **fields: Any) -> Answer:
        """Send a form of the page."""
        given = {
            "sec-fetch-site": "same-origin",
            "content-type": "application/x-www-form-urlencoded",
            **(headers or {}),
        }
        return self._ask("POST", path, given, urlencode(fields).encode())

    def form_token(self, path: str = "/turns") -> str:
        """Return the token that the forms of a page carry."""
        found = re.search(r'name="form_token" value="([0-9a-f]+)"', self.get(path).body.decode())
        assert found
        return found[1]

    def text(self, path: str) -> str:
        """Return the text of a page, without tags."""
        return as_text(self.get(path).body)

    def _ask(self, method: str, path: str, headers: dict[str, str], body: bytes | None) -> Answer:
        sent = {"accept": "text/html", **({"cookie": self.cookie} if self.cookie else {}), **headers}
        answer = self.server.ask(method, path, sent, body)
        if set_cookie := answer.headers.get("set-cookie"):
            self.cookie = set_cookie.partition(";")[0]
        return answer

    @staticmethod
    def _named(headers: Mapping[str, str]) -> dict[str, str]:
        return {name.replace("_", "-"): value for name, value in headers.items()}


def as_text(body: bytes) -> str:
    """Return what a page says, without its tags."""
    return " ".join(unescape(re.sub(r"<[^>]*>", " ", body.decode())).split())
