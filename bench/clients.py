"""Real clients through ``promptuary serve``: two messages each, with a reference, a tool call and a resume.

``python -m bench clients [--npm DIR] [--only NAME]``. Nothing is installed: the programs are those of ``PATH``, or
those that npm put below ``DIR``:

    npm install --prefix DIR @anthropic-ai/claude-code @openai/codex opencode-ai @continuedev/cli
    npm approve-scripts --prefix DIR --all    # newer versions of npm run install scripts only if asked to

Each client gets a home and a workspace of its own, and the settings that ``promptuary install CLIENT --proxy`` writes.
The model service is a script on loopback that answers the first message with a tool call. What it was sent is compared
from request to request: the file that the reference named is at the same place in each, what is recalled comes last and
is not repeated, and everything else is repeated as it was. The ledger has a turn for each message that was typed.
"""

import argparse
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from promptuary.base.messages import ToolCall
from promptuary.testing.chat_server import Says
from tests.server.upstream import Asked, Deed, Upstream

PROMPTUARY = str(Path(sys.executable).with_name("promptuary"))
SECONDS = 120
STONE = "The keystone of the bridge is basalt."
FIRST = "Read @file:stone.md and look at deploy.md with a tool: what is the bridge made of, and when do we deploy?"
SECOND = "Thank you. And when do we deploy?"
FACT = "We deploy the bridge on Thursdays, never before noon."
AGENT = "Let an agent count the stones."
LAST = "Once more: when do we deploy?"
LIVE = "<promptuary>"
KEY = "the-own-key"


@dataclass(frozen=True, slots=True)
class Client:
    """A client: its program, the words for a message and for the next one, and the call of its tool."""

    name: str
    program: str
    first: Sequence[str]
    again: Sequence[str]
    tool: str
    argument: Callable[[Path], Mapping[str, Any]]


CLIENTS = (
    Client(
        "claude-code",
        "claude",
        ("-p", "--allowedTools", "Read", "--"),
        ("-c", "-p", "--allowedTools", "Read", "--"),
        "Read",
        lambda site: {"file_path": str(site / "deploy.md")},
    ),
    Client(
        "codex",
        "codex",
        ("exec", "--profile", "promptuary-site", "--skip-git-repo-check"),
        ("exec", "--profile", "promptuary-site", "--skip-git-repo-check", "resume", "--last"),
        "exec_command",
        lambda _: {"cmd": "cat deploy.md"},
    ),
    Client(
        "opencode",
        "opencode",
        ("run", "-m", "anthropic/claude-sonnet-4-5"),
        ("run", "-c", "-m", "anthropic/claude-sonnet-4-5"),
        "read",
        lambda site: {"filePath": str(site / "deploy.md")},
    ),
    Client(
        "continue",
        "cn",
        ("--config", ".continue/models/promptuary.yaml", "-p"),
        ("--config", ".continue/models/promptuary.yaml", "--resume", "-p"),
        "Read",
        lambda site: {"filepath": str(site / "deploy.md")},
    ),
)


@dataclass(slots=True)
class Seen:
    """What was seen of a client. A sentence of ``wrong`` is a defect, of the client's settings or of ours."""

    client: str
    version: str
    own_key: bool
    path: str = ""
    requests: int = 0
    others: int = 0
    repeated: str = ""
    turns: int = 0
    wrong: list[str] = field(default_factory=list)


class Model(Upstream):
    """Calls a tool when the message of the first turn arrives with tools, and answers everything else."""

    def __init__(self, client: Client, site: Path) -> None:
        self.client, self.site = client, site
        super().__init__(Says("Basalt, and on Thursdays."))

    def next_reply(self) -> Deed:
        body = self.asked[-1].json
        own = [one for one in blocks(body) if LIVE not in one.text and one.role != "system"] if has_tools(body) else []
        if own and own[-1].text == AGENT:
            task = {"description": "Count", "prompt": "Count them.", "subagent_type": "general-purpose"}
            return Says("Let me ask.", calls=[ToolCall("call_2", "Agent", json.dumps(task))])
        if not own or any(one.kind in ("tool_result", "function_call_output", "tool") for one in own):
            return Says("Basalt, and on Thursdays.")
        if not any(FIRST in one.text for one in own):  # an agent that was started, or a summary
            return Says("Basalt, and seven.")
        arguments = json.dumps(self.client.argument(self.site))
        return Says("Let me look.", calls=[ToolCall("call_1", self.client.tool, arguments)])


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench clients", description=__doc__.partition("\n")[0])
    parser.add_argument("--only", action="append", choices=[client.name for client in CLIENTS])
    parser.add_argument("--npm", type=Path, help="the folder below which npm has installed the clients")
    parser.add_argument(
        "--keep", type=Path, help="write the requests that arrive at the model service into this folder"
    )
    options, _ = parser.parse_known_args()
    seen = []
    for client in CLIENTS:
        if options.only and client.name not in options.only:
            continue
        program = shutil.which(client.program, path=search_path(options.npm))
        if program is None:
            print(f"{client.name}: no program {client.program}; see the top of bench/clients.py", file=sys.stderr)
            continue
        for own_key in (True, False):
            with TemporaryDirectory() as folder:
                seen.append(Trial(client, program, Path(folder).resolve(), own_key=own_key).run(options.keep))
    print_table(seen)
    if any(one.wrong for one in seen):
        raise SystemExit(1)


def search_path(npm: Path | None) -> str:
    return os.pathsep.join([*([str(npm / "node_modules" / ".bin")] if npm else []), os.environ["PATH"]])


class Trial:
    """A client in a home and a workspace of its own; with ``own_key`` it has a key, else the server has."""

    def __init__(self, client: Client, program: str, folder: Path, *, own_key: bool) -> None:
        self.client, self.program, self.own_key = client, program, own_key
        self.home, self.site = folder / "home", folder / "site"
        for path in (self.home, self.site / ".git"):
            path.mkdir(parents=True)
        (self.site / "stone.md").write_text(f"{STONE}\n")
        (self.site / "deploy.md").write_text("Deployments: see the calendar.\n")
        names = ("PATH", "LANG", "XDG_RUNTIME_DIR")
        self.environment = {name: os.environ[name] for name in names if name in os.environ} | {
            "HOME": str(self.home),
            "TERM": "xterm",
            "NO_COLOR": "1",
            "PROMPTUARY_EMBEDDER": "none",
            "DISABLE_AUTOUPDATER": "1",
            "OPENCODE_DISABLE_AUTOUPDATE": "1",
            "CONTINUE_TELEMETRY_ENABLED": "0",
        }
        version = run([program, "--version"], self.site, self.environment)
        self.seen = Seen(client.name, next(iter(re.findall(r"\d+\.\d+[\w.]*", version)), "?"), own_key)

    def run(self, keep: Path | None) -> Seen:
        """Send messages through the client, and return what arrived at the model."""
        self.promptuary("remember", FACT)
        proxy = ("install", self.client.name, "--proxy", *([] if self.own_key else ["--server-key"]))
        keys = {"OPENAI_API_KEY": KEY, "ANTHROPIC_API_KEY": KEY}
        with (
            Model(self.client, self.site) as model,
            serving(model, self.site, {**self.environment, **({} if self.own_key else keys)}) as url,
        ):
            self.promptuary(*proxy, "--url", url, "--yes")
            token = (self.home / ".local/state/promptuary/tokens/serve").read_text().strip()
            environment = {**self.environment, "PROMPTUARY_TOKEN": token, **(keys if self.own_key else {})}
            self.say(self.client.first, FIRST, environment)
            self.say(self.client.again, SECOND, environment)
            check_requests(self.seen, model.asked, keep)
            self.check_ledger()
            if self.client.name == "claude-code" and not self.seen.wrong:
                before = len(model.asked)
                for text in (AGENT, "/compact", LAST):
                    self.say(self.client.again, text, environment)
                check_agent_and_summary(self.seen, [one for one in model.asked[before:] if one.method == "POST"])
        self.promptuary(*proxy, "--undo", "--yes")
        return self.seen

    def say(self, words: Sequence[str], text: str, environment: Mapping[str, str]) -> None:
        said = run([self.program, *words, text], self.site, environment)
        if "Basalt" not in said and text != "/compact":
            self.seen.wrong.append(f"it printed no answer: {said[-300:]!r}")
        time.sleep(0.5)  # what is recorded after the last byte

    def promptuary(self, *words: str) -> str:
        return run([PROMPTUARY, *words], self.site, self.environment)

    def check_ledger(self) -> None:
        """Look up the turns in the ledger, as the person does."""
        seen = self.seen
        threads = [one["id"] for one in json.loads(self.promptuary("thread", "list", "--json"))["threads"]]
        if len(threads) != 1:
            seen.wrong.append(f"{len(threads)} threads instead of one: {threads}")
        for thread in threads:
            history = self.promptuary("thread", "history", "-t", thread)
            seen.turns += sum(text in history for text in (FIRST, SECOND))
            shown = self.promptuary("thread", "show", "-t", thread)
            if "recall" not in shown:
                seen.wrong.append(f"thread show does not say what was recalled: {shown[-300:]!r}")
        if seen.turns != 2:
            seen.wrong.append(f"{seen.turns} of 2 messages are in the ledger")


@contextmanager
def serving(model: Model, site: Path, environment: Mapping[str, str]) -> Iterator[str]:
    """Run ``promptuary serve`` as a person starts it, with the script in the place of the providers."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    upstreams = {"ANTHROPIC_BASE_URL": model.url, "OPENAI_BASE_URL": model.openai_url}
    command = [PROMPTUARY, "serve", "-w", str(site), "--port", str(port)]
    log = site.parent / "serve.log"
    with (
        log.open("wb") as file,
        subprocess.Popen(
            command, cwd=site, env={**environment, **upstreams}, stdin=subprocess.DEVNULL, stdout=file, stderr=file
        ) as server,
    ):
        try:
            for _ in range(600):
                with socket.socket() as tried:
                    if tried.connect_ex(("127.0.0.1", port)) == 0:
                        break
                if server.poll() is not None:
                    raise SystemExit(f"promptuary serve ended: {log.read_text()}")
                time.sleep(0.05)
            yield f"http://127.0.0.1:{port}"
        finally:
            server.terminate()
            server.wait(30)
            if os.environ.get("PROMPTUARY_BENCH_LOG"):
                print(log.read_text(), file=sys.stderr)


def run(command: Sequence[str], folder: Path, environment: Mapping[str, str]) -> str:
    """Run a program to its end, and return what it printed."""
    try:
        ended = subprocess.run(
            command,
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        return f"{' '.join(command)} took longer than {SECONDS} s: {(error.stdout or b'').decode(errors='replace')}"
    return ended.stdout.decode(errors="replace")


@dataclass(frozen=True, slots=True)
class Block:
    """A block of a request: who says it, what it is, and all of it but marks for caches, as text."""

    role: str
    kind: str
    text: str


def blocks(body: Mapping[str, Any]) -> list[Block]:
    """Return what a provider's cache compares: a text is the same as one block of text."""
    found = []
    for message in body.get("messages", body.get("input", ())):
        role, content = message.get("role", ""), message.get("content")
        rest = {key: value for key, value in message.items() if key not in ("role", "content")}
        if role == "tool" or (rest and rest.get("type", "message") != "message"):
            found.append(Block(role, "tool" if role == "tool" else rest.get("type", ""), json.dumps(message)))
            continue
        parts = [{"type": "text", "text": content}] if isinstance(content, str) else content or ()
        for part in parts:
            plain = {key: value for key, value in part.items() if key != "cache_control"}
            found.append(Block(role, part.get("type", ""), plain.get("text") or json.dumps(plain)))
        if rest.get("tool_calls"):
            found.append(Block(role, "tool_calls", json.dumps(rest)))
    return found


def has_tools(body: Mapping[str, Any]) -> bool:
    return bool(body.get("tools")) or any(one.get("type") == "additional_tools" for one in body.get("input", ()))


def check_requests(seen: Seen, asked: Sequence[Asked], keep: Path | None) -> None:
    """Compare what arrived at the model from request to request."""
    ends = ("messages", "responses", "completions")
    posts = [one for one in asked if one.method == "POST" and one.path.endswith(ends)]
    if keep is not None:
        keep.mkdir(parents=True, exist_ok=True)
        for number, one in enumerate(posts):
            (keep / f"{seen.client}-{number}.json").write_bytes(one.body)
    requests = [one.json for one in posts if has_tools(one.json)]
    others = [one for one in posts if not has_tools(one.json)]
    seen.path = next((one.path for one in posts if has_tools(one.json)), "")
    seen.requests, seen.others = len(requests), len(others)
    check_keys(seen, posts)
    if any(LIVE in one.body.decode() or STONE in one.body.decode() for one in others):
        seen.wrong.append("something was added to a request for a title")
    if len(requests) == 3:
        check_places(seen, [blocks(request) for request in requests])
    else:
        seen.wrong.append(f"{len(requests)} requests of the conversation arrived, not 3")


def check_keys(seen: Seen, posts: Sequence[Asked]) -> None:
    for one in posts:
        key = one.headers.get("x-api-key") or one.headers.get("authorization", "").removeprefix("Bearer ")
        if key != KEY:
            seen.wrong.append(f"the key was not sent on, but {key[:8]!r}")
        if "pt_" in json.dumps(one.headers) or "x-promptuary-token" in one.headers:
            seen.wrong.append("our token was sent to the model service")


def check_places(seen: Seen, lists: Sequence[Sequence[Block]]) -> None:
    places = [[at for at, one in enumerate(found) if STONE in one.text and LIVE not in one.text] for found in lists]
    if not all(places) or any(place[:1] != places[0][:1] for place in places):
        seen.wrong.append(f"the file of the reference is at {places} in the requests")
    for number, found in enumerate(lists, 1):
        live = [at for at, block in enumerate(found) if LIVE in block.text]
        if live != [len(found) - 1]:
            seen.wrong.append(f"request {number}: what is recalled is at {live} of {len(found)} blocks")
        elif FACT not in found[-1].text:
            seen.wrong.append(f"request {number}: the fact was not recalled")
    kept, total = 0, 0
    for before, after in pairwise(lists):
        own = before[:-1] if before and LIVE in before[-1].text else before
        same = next((at for at, pair in enumerate(zip(own, after, strict=False)) if pair[0] != pair[1]), len(own))
        kept, total = kept + same, total + len(own)
        if same < len(own):
            seen.wrong.append(f"block {same} is not repeated: {own[same].text[:80]!r}, {after[same].text[:80]!r}")
    seen.repeated = f"{kept} of {total}"


def check_agent_and_summary(seen: Seen, posts: Sequence[Asked]) -> None:
    """Check what Claude Code asks beside what a person typed: for an agent that it started, and for a summary."""
    texts = [one.body.decode() for one in posts]
    agents = [text for text in texts if "cc_is_subagent" in text]
    summaries = [text for text in texts if "Respond with TEXT ONLY" in text]
    if not agents or any(LIVE in text or STONE in text for text in agents):
        seen.wrong.append(f"{len(agents)} requests of an agent, or something was added to them")
    if not summaries or any(LIVE in text or STONE not in text for text in summaries):
        seen.wrong.append(f"{len(summaries)} requests for a summary, or they are not as the conversation was")
    found = blocks(posts[-1].json)
    if LIVE not in found[-1].text or sum(LIVE in block.text for block in found) != 1:
        seen.wrong.append("after a summary, nothing is recalled")


def print_table(seen: Sequence[Seen]) -> None:
    titles = ("client", "version", "key", "asks", "requests", "others", "blocks repeated", "turns", "")
    rows = [
        (
            *(one.client, one.version, "its own" if one.own_key else "the server's", one.path),
            *(one.requests, one.others, one.repeated, one.turns, "WRONG" * bool(one.wrong)),
        )
        for one in seen
    ]
    widths = [max(len(str(row[column])) for row in (titles, *rows)) for column in range(len(titles))]
    for row, wrong in zip((titles, *rows), ([], *(one.wrong for one in seen)), strict=True):
        print("  ".join(f"{value:<{width}}" for value, width in zip(row, widths, strict=True)).rstrip())
        for sentence in wrong:
            print(f"    {sentence}")


if __name__ == "__main__":
    main()
