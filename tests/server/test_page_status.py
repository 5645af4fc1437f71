"""The status of a workspace and its server, tokens and settings, over real HTTP."""

import json
import re
import time
from pathlib import Path
from typing import Any

from promptuary.base.principals import Principal
from promptuary.client import BlockingClient
from promptuary.server.page.once import Secrets
from promptuary.server.tokens import Limits
from promptuary.testing.chat_server import Says
from tests.conftest import Files
from tests.served import RunningServer
from tests.server.clients import Clients
from tests.server.conftest import StartServer
from tests.server.upstream import Upstream
from tests.server.visitors import Visitor, as_text


def status(visitor: Visitor) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(visitor.get("/status.json").body)
    return found


def finished(visitor: Visitor, job: str) -> dict[str, Any]:
    """Return the status when a job has ended."""
    deadline = time.monotonic() + 60
    while (found := status(visitor))[job] is None or found[job]["is_running"]:
        assert time.monotonic() < deadline
        time.sleep(0.02)
    return found


def press(visitor: Visitor, path: str, **fields: Any) -> None:
    answer = visitor.send(path, form_token=visitor.form_token("/status"), **fields)
    assert answer.status == 303, answer.body
    assert answer.headers["location"].startswith("/status")


def test_a_workspace_is_indexed_from_the_page(files: Files, start_server: StartServer) -> None:
    files({"a.txt": "the text of a\n", "docs/b.md": "# B\n"})
    visitor = Visitor(start_server())
    assert "Nothing is indexed" in visitor.text("/status")

    press(visitor, "/status/index")

    found = finished(visitor, "indexing")
    assert (found["index"]["counts"]["files"], found["indexing"]["summary"]) == (2, "2 new")
    assert found["index"]["folders"][0]["path"] == "the workspace"
    assert "2 files in" in visitor.text("/status")
    files({"a.txt": "another text\n"})
    press(visitor, "/status/index")
    assert finished(visitor, "indexing")["indexing"]["summary"] == "1 changed"


def test_no_page_says_where_on_the_machine_the_workspace_is(files: Files, start_server: StartServer) -> None:
    root = files({"a.txt": "text\n", "promptuary.toml": "allow_hosts = ['evil.test']\n", "private.md": "x"})
    visitor = Visitor(start_server())
    press(visitor, "/status/index")
    press(visitor, "/status/check")
    finished(visitor, "indexing")
    finished(visitor, "check")

    for path in ("/status", "/status.json", "/status/settings", "/status/settings.json"):
        assert str(root) not in visitor.get(path).body.decode(), path


def test_a_check_shows_what_is_wrong_with_its_remedy_and_repairs_it(files: Files, start_server: StartServer) -> None:
    files({"a.txt": "the text of a\n"})
    visitor = Visitor(start_server())
    with BlockingClient(visitor.server.base, token=visitor.secret) as p:
        note = p.memory.write("See [[Nowhere]].", title="A note <b>with</b> a link")
    assert "Not checked" in visitor.text("/status")

    press(visitor, "/status/check")

    assert finished(visitor, "check")["check"]["found"] == {"findings": 1, "well": False}
    shown = visitor.text("/status")
    assert "It links to Nowhere, which is not there" in shown
    assert "Edit it." in shown
    assert note.header.path in shown


def test_what_one_principal_checked_no_other_sees(files: Files, start_server: StartServer) -> None:
    files({"a.txt": "the text of a\n"})
    server = start_server()
    ada, bob = Visitor(server, Principal("ada")), Visitor(server, Principal("bob"))
    press(ada, "/status/check")
    finished(ada, "check")

    assert status(bob)["check"] is None


def test_the_limits_of_the_token_are_shown_with_what_was_used(server: RunningServer) -> None:
    visitor = Visitor(server, limits=Limits(requests=200, money=2.0))
    server.store.add_use(visitor.token, requests=50, tokens=1234, money=0.5)

    assert status(visitor)["limits"] == [
        {"what": "requests", "used": 50, "most": 200},
        {"what": "tokens", "used": 1234, "most": None},
        {"what": "money", "used": 0.5, "most": 2.0},
    ]
    assert "25 %" in visitor.text("/status")


def test_clients_of_the_proxy_are_shown_with_their_cache_and_what_was_added(
    proxied: RunningServer, clients: Clients, upstream: Upstream
) -> None:
    upstream.replies = [Says("Fine.", usage=(1000, 20, 800))]
    visitor, other = Visitor(proxied), Visitor(proxied, Principal("bob"), scopes=frozenset({"read"}))
    clients.ask("chat", "what is in @file:a.txt?")
    deadline = time.monotonic() + 20
    while not (found := status(visitor)["clients"]):
        assert time.monotonic() < deadline
        time.sleep(0.02)

    (client,) = found
    assert client["name"].startswith("OpenAI/Python")
    assert (client["requests"], client["token"]["name"]) == (1, "test")
    assert (client["input_tokens"], client["cached_tokens"], client["output_tokens"]) == (1000, 800, 20)
    assert client["added_tokens"] > 0
    assert "hash" not in json.dumps(client)
    assert "80 %" in visitor.text("/status")
    assert status(other)["clients"] == []


def test_a_token_is_created_and_its_secret_shown_once(server: RunningServer) -> None:
    visitor = Visitor(server)

    made = visitor.send(
        "/status/tokens",
        form_token=visitor.form_token(),
        name="laptop <b>",
        user="ada",
        scope_read="yes",
        scope_proxy="yes",
        models="gpt-5, claude-sonnet-4-5",
        requests="1,000",
        money="2.5",
        days="30",
    )

    assert (made.status, made.headers["cache-control"]) == (303, "no-store"), as_text(made.body)
    where = made.headers["location"]
    assert "pt_" not in where
    page = visitor.get(where)
    found = re.search(r"pt_[0-9a-f]{12}_[0-9a-f]{48}", page.body.decode())
    assert found
    token = server.store.find(found[0])
    assert token is not None
    assert (token.name, token.principal.user, token.scopes) == ("laptop <b>", "ada", frozenset({"read", "proxy"}))
    assert (token.models, token.limits) == (("gpt-5", "claude-sonnet-4-5"), Limits(1000, None, 2.5))
    assert token.expires
    assert page.headers["cache-control"] == "no-store"
    assert "Its secret was shown once" in visitor.text(where)  # loaded again
    assert [one.name for one in server.store.list()].count("laptop <b>") == 1
    for path in (where, "/status/tokens", "/status/tokens.json"):
        assert found[0].rpartition("_")[2] not in visitor.get(path).body.decode()
    assert "laptop <b>" in visitor.text("/status/tokens").replace("&lt;", "<")


def test_nobody_creates_a_token_that_may_do_more_than_their_own(server: RunningServer) -> None:
    visitor = Visitor(server, scopes=frozenset({"read", "admin"}), models=("gpt-5",))

    asked: tuple[dict[str, Any], ...] = (
        {"scope_write": "yes", "models": "gpt-5"},
        {"scope_read": "yes"},
        {"scope_read": "yes", "models": "o3"},
    )
    for more in asked:
        answer = visitor.send("/status/tokens", form_token=visitor.form_token(), name="more", **more)
        assert answer.status == 400, more
    assert not [token for token in server.store.list() if token.name == "more"]


def test_the_page_of_somebody_without_admin_has_no_way_to_tokens_or_settings(server: RunningServer) -> None:
    visitor = Visitor(server, scopes=frozenset({"read", "write"}))

    assert b"/status/tokens" not in visitor.get("/status").body
    assert visitor.get("/status/tokens").status == visitor.get("/status/settings").status == 403
    assert visitor.send("/status/tokens", form_token=visitor.form_token(), name="x", scope_read="yes").status == 403


def test_revoking_on_the_page_ends_the_sessions_and_streams_of_the_token(server: RunningServer) -> None:
    admin, other = Visitor(server), Visitor(server)
    stream = server.open_get("/live", f"Cookie: {other.cookie}\r\n")
    assert b"event: start" in stream.recv(65536)

    press(admin, f"/status/tokens/{other.token.id}/revoke")

    assert other.get("/status").status == 401
    deadline = time.monotonic() + 10
    while stream.recv(65536):
        assert time.monotonic() < deadline
    stream.close()
    assert admin.send(f"/status/tokens/{other.token.id}/revoke", form_token=admin.form_token()).status == 404


def test_settings_are_shown_with_their_origin_and_without_what_is_secret(
    files: Files, start_server: StartServer, tmp_path: Path
) -> None:
    files({"promptuary.toml": "recall_tokens = 777\n"})
    settings = {"embed_url": "https://ada:s3cret@embed.test/v1", "allow_sensitive": ("vault.kdbx",)}
    visitor = Visitor(start_server(settings=settings))

    body = visitor.get("/status/settings").body.decode()
    rows = {row["name"]: row for row in json.loads(visitor.get("/status/settings.json").body)["settings"]}

    assert (rows["recall_tokens"]["value"], rows["recall_tokens"]["origin"]) == ("777", "promptuary.toml")
    assert rows["embed_url"] == rows["embed_url"] | {"value": "", "is_hidden": True, "origin": "option"}
    for secret in ("s3cret", "embed.test", "vault.kdbx"):
        assert secret not in body + json.dumps(rows)


def test_a_setting_is_written_for_the_workspace_unless_it_widens_what_is_read_or_sent(
    files: Files, start_server: StartServer
) -> None:
    root = files({"promptuary.toml": "# ours\nrecall_tokens = 777\n"})
    visitor = Visitor(start_server())

    press(visitor, "/status/settings", name="recall_tokens", value="888")

    assert (root / "promptuary.toml").read_text() == "# ours\nrecall_tokens = 888\n"
    assert "when the server is started again" in visitor.text("/status/settings?saved=recall_tokens")
    for name in ("embed_url", "rerank_key", "allow_hosts", "allow_sensitive", "database", "server", "answer_model"):
        assert visitor.send("/status/settings", form_token=visitor.form_token(), name=name, value="x").status == 403, (
            name
        )
    assert visitor.send("/status/settings", form_token=visitor.form_token(), name="models", value="x").status == 400
    assert (
        visitor.send("/status/settings", form_token=visitor.form_token(), name="recall_tokens", value="many").status
        == 400
    )
    assert (root / "promptuary.toml").read_text() == "# ours\nrecall_tokens = 888\n"


def test_what_is_odd_in_the_settings_is_said_once_and_nothing_is_said_of_good_ones(server: RunningServer) -> None:
    assert json.loads(Visitor(server).get("/status.json").body)["notes"] == []


def test_the_secret_of_a_new_token_is_shown_to_no_other_session(server: RunningServer) -> None:
    visitor, other = Visitor(server), Visitor(server)
    made = visitor.send("/status/tokens", form_token=visitor.form_token(), name="mine", scope_read="yes")

    assert b"Copy its secret" not in other.get(made.headers["location"]).body
    assert b"Copy its secret" in visitor.get(made.headers["location"]).body


def test_secrets_wait_a_few_minutes_and_not_too_many_of_them() -> None:
    clock = [0.0]
    secrets = Secrets(lambda: clock[0])
    for number in range(101):
        secrets.put("session", str(number), f"secret {number}")
    assert secrets.take("session", "0") == ""
    assert secrets.take("other", "1") == ""
    assert secrets.take("session", "1") == "secret 1"
    assert secrets.take("session", "1") == ""
    clock[0] = 299.0
    assert secrets.take("session", "2") == "secret 2"
    clock[0] = 301.0
    assert secrets.take("session", "3") == ""


def test_the_form_of_a_token_keeps_what_was_typed_when_it_is_refused(server: RunningServer) -> None:
    visitor = Visitor(server)

    answer = visitor.send(
        "/status/tokens",
        form_token=visitor.form_token(),
        name='laptop "of" Ada',
        user="ada",
        scope_proxy="yes",
        models="gpt-5",
        money="much",
    )

    assert answer.status == 400
    shown = answer.body.decode()
    assert "Money a day must be a number" in as_text(answer.body)
    for value in ("laptop &#34;of&#34; Ada", "ada", "gpt-5", "much"):
        assert f'value="{value}"' in shown, value
    assert 'name="scope_proxy" value="yes" checked' in shown
    assert 'name="scope_read" value="yes" checked' not in shown


def test_a_setting_that_is_refused_keeps_what_was_typed_beside_the_reason(server: RunningServer) -> None:
    visitor = Visitor(server)

    answer = visitor.send(
        "/status/settings", form_token=visitor.form_token(), name="recall_tokens", value='many "tokens"'
    )

    assert answer.status == 400
    row = answer.body.decode().partition('<tr id="recall_tokens">')[2].partition("</tr>")[0]
    assert 'value="many &#34;tokens&#34;"' in row
    assert "recall_tokens must be a whole number" in as_text(row.partition('class="problem"')[2].encode())
    assert answer.body.count(b'class="problem"') == 1


def test_revoking_ones_own_token_says_first_what_it_ends_and_the_way_back(server: RunningServer) -> None:
    visitor = Visitor(server)
    path = f"/status/tokens/{visitor.token.id}/revoke"

    asked = visitor.send(path, form_token=visitor.form_token())

    assert (asked.status, visitor.get("/status").status) == (200, 200)
    said = as_text(asked.body)
    for words in ("You are signed in with this token", "promptuary open", "promptuary token create", "Keep it"):
        assert words in said
    assert visitor.send(path, form_token=visitor.form_token(), confirm="yes").status == 303
    assert visitor.get("/status").status == 401
