"""Every command and action, with ``--json`` and without: stories, each in a world of its own."""

import json
import re
import shlex
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from tests.net.model_server import ModelServer, calls, says
from tests.net.plain import Plain
from tests.net.world import World, empty_world, make_world, next_second

_COMMANDS = (
    "expand ask chat reply abandon complete context thread session index search watch model memory remember experience "
    "mcp gateway hook install backup restore purge adopt doctor completion config"
)
ACTIONS = {
    "memory": "write show list search history diff edit undo archive restore adopt forget "
    "proposals accept learn reject import export",
    "experience": "add find list show feedback decay prune forget",
    "session": "create list show refresh archive restore rm replay prune forget audit",
}


def _spelled_now(arguments: tuple[str, ...]) -> tuple[str, ...]:
    """Return a command as it is spelled now; it was recorded, and its file is named, as it was spelled then."""
    match arguments:
        case ("abandon", *rest):
            return "thread", "abandon", *rest
        case ("adopt", *rest):
            return "doctor", "--adopt", *rest
        case ("context", "tokens", *rest):
            return "context", "list", *rest
        case ("memory", "restore", *rest):
            return "memory", "archive", "--undo", *rest
        case ("session", "list" | "show", *rest):
            return "thread", "limits", *rest
        case ("session", "restore", *rest):
            return "thread", "archive", "--undo", *rest
        case ("session", "replay", name, *rest):
            return "thread", "replay", *rest, "-t", name
        case ("session", *rest):
            return "thread", *rest
        case ("complete", "--max", *rest):
            return "complete", "--limit", *rest
    return arguments


class Story:
    """Runs commands one after the other, and writes each with what it printed to a file of its own."""

    def __init__(self, world: World, folder: Path, plain: Plain) -> None:
        self.world, self._folder, self._plain = world, folder, plain
        self._number = 0
        self.variables: dict[str, str] = {}
        folder.mkdir(parents=True)

    def run(self, *arguments: str, given: str | bytes = b"") -> str:
        """Run a command, and return what it printed."""
        data = given.encode() if isinstance(given, str) else given
        done = self.world.program(_spelled_now(arguments), data, **self.variables)
        self._number += 1
        parts = [f"$ promptuary {shlex.join(arguments)}", f"exit code {done.code}"]
        if data:
            parts.insert(1, f"--- stdin\n{data[:2_000].decode(errors='backslashreplace')}")
        for name, said in (("stdout", done.out), ("stderr", done.err)):
            parts.append(f"--- {name}\n{said.decode(errors='backslashreplace')}")
        words = "-".join(re.findall(r"[a-z0-9]+", self._plain(" ".join(arguments)).lower()))[:40].strip("-")
        path = self._folder / f"{self._number:03}-{words}.txt"
        path.write_text(self._plain("\n".join(parts)), encoding="utf-8")
        return done.out.decode(errors="replace")

    def both(self, *arguments: str, given: str | bytes = b"") -> None:
        """Run a command that changes nothing, for people and for programs."""
        self.run(*arguments, given=given)
        self.run(*arguments, "--json", given=given)

    def json(self, *arguments: str, given: str | bytes = b"") -> Any:
        """Run a command with ``--json`` in a second of its own, and return what it printed."""
        next_second()
        printed = self.run(*arguments, "--json", given=given)
        return json.loads(printed) if printed.strip() else None

    def file(self, name: str, path: Path) -> None:
        """Record a file that the program wrote."""
        text = path.read_text(encoding="utf-8") if path.is_file() else "(there is none)"
        (self._folder / f"file-{name}.txt").write_text(self._plain(text), encoding="utf-8")

    def tree(self, name: str, path: Path) -> None:
        """Record the names of the files below a folder, and their rights."""
        found = sorted(path.rglob("*"))
        lines = [f"{one.stat().st_mode & 0o777:03o} {one.relative_to(path)}" for one in found if not one.is_symlink()]
        (self._folder / f"tree-{name}.txt").write_text(self._plain("\n".join(lines) + "\n"), encoding="utf-8")


def _help(story: Story) -> None:
    for arguments in ((), ("--version",), ("--help",), ("-h",), ("help",)):
        story.run(*arguments)
    for command in _COMMANDS.split():
        story.run(command, "--help")
        story.run(command, "--help-all")
        story.run("help", command)
        for action in ACTIONS.get(command, "").split():
            story.run(command, action, "--help")
            story.run(command, action, "--help-all")


def _slips(story: Story) -> None:
    for typed in (
        "exapnd hello",
        "expnd",
        "threads",
        "memory",
        "memory lst",
        "memory show",
        "memory write",
        "memory forget",
        "experience",
        "experience fnd",
        "experience feedback good 1",
        "session",
        "session create",
        "session audit",
        "session prune",
        "thread",
        "thread lsit",
        "thread show seven",
        "context",
        "context ad x",
        "context add",
        "expand --jsn hello",
        "expand --window many hello",
        "expand --window -1 hello",
        "expand --for gpt hello",
        "expand --workspace /absent hello",
        "expand --thread ''  hello",
        "expand --thread a/b hello",
        "expand --model no-such-model hello",
        "complete --max none @",
        "search --limit 0 x",
        "search --kind film x",
        "search --since never x",
        "search",
        "index /absent",
        "index --remove /absent",
        "model",
        "model show absent",
        "model remove absent",
        "model add",
        "config --window 1x",
        "completion tcsh",
        "completion",
        "backup",
        "restore /absent.zip",
        "restore",
        "purge --here --everywhere",
        "hook",
        "hook emacs Start",
        "hook claude-code Absent",
        "install",
        "install emacs",
        "gateway",
        "gateway check absent",
        "gateway absent",
        "mcp --http many",
        "mcp --root /absent",
        "reply",
        "reply --cost much hello",
        "abandon",
        "ask",
        "chat",
        "watch --onec",
        "remember",
        "remember --kind odd hello",
        "adopt now",
        "doctor --fixx",
        "help absent",
    ):
        story.run(*shlex.split(typed))
    story.variables["PROMPTUARY_WINDOW"] = "many"
    story.run("config")
    story.variables = {"PROMPTUARY_WINDWO": "1"}
    story.run("config")
    story.variables.clear()


def _empty(story: Story) -> None:
    for typed in (
        "thread list",
        "thread show",
        "thread history",
        "thread replay",
        "thread export",
        "thread rm absent --yes",
        "thread rename a b",
        "context list",
        "context tokens",
        "context clear",
        "context find app",
        "session list",
        "session show absent",
        "session refresh absent",
        "session archive absent",
        "session restore absent",
        "session rm absent --yes",
        "session replay absent",
        "session audit README.md",
        "session audit --turn 1",
        "session prune --older-than 1d",
        "session forget README.md --dry-run",
        "memory list",
        "memory search deploy",
        "memory show 0000",
        "memory history 0000",
        "memory diff 0000",
        "memory edit 0000 --content x",
        "memory undo 0000",
        "memory archive 0000",
        "memory restore 0000",
        "memory forget 0000 --yes",
        "memory proposals",
        "memory accept --all",
        "memory reject --all",
        "memory adopt",
        "memory learn",
        "memory export out",
        "experience list",
        "experience find deploy",
        "experience show 0000",
        "experience feedback helped 0000",
        "experience decay",
        "experience prune",
        "experience forget 0000 --yes",
        "index --list",
        "search deploy",
        "model list",
        "reply hello",
        "abandon",
        "adopt",
        "doctor",
        "purge --dry-run",
        "purge --everywhere --dry-run",
        "complete @",
        "complete nothing",
        "expand hello",
        "expand '@file:absent.py @diff'",
        "ask hello",
        "config",
    ):
        story.both(*shlex.split(typed))
    story.tree("left", story.world.work)


def _expanding(story: Story) -> None:
    for text in (
        "hello",
        "Review @file:src/app.py:6-9 and @file:src/app.py#App.run against #docs/style.md, please.",
        "What is in @folder:src? Show me @glob:**/*.py,!**/app.py.",
        "Explain @diff, @staged, @status and @git:1.",
        "See @git:main~1..main and @commit:HEAD and @commit:zzz",
        "@symbol:App.run @symbol:absent @symbol:Server.start",
        "@file:src/ap.py @file:../out @file:/etc/passwd @file:.env @file:src @file:src/app.py:90-99 @file:src/app.py#N",
        "@file:keys/id_rsa @file:src/settings.py @glob:**/*.env",
        "[[deploy]] [[absent note]] [[docs/style]]",
        '@search:"how do we deploy" @memory:"deploy"',
        "@file:picture.png and @file:paper.pdf and @file:odd/binary.bin",
        "@file:log.txt @file:src/big.py",
        "@flie:src/app.py @src/ap.py @dif @codebase #file:README.md @file: README.md @https://example.com/",
        "@url:http://127.0.0.1:1/ @url:https://example.invalid/x @url:file:///etc/passwd",
        "`@file:src/app.py` and \\@diff and mail me@example.com",
        '@file:"odd/a b\'c.txt" @file:odd/-dash.txt @file:odd/@file.txt @file:odd/latin.txt @file:odd/empty.txt',
        "@folder:odd @folder:absent @file:build/out.txt @file:docs/übersicht.md",
        "@README.md @docs/style.md:1-3 #README.md",
    ):
        story.both("expand", text)
    for form in ("text", "openai", "openai-responses", "anthropic"):
        story.both("expand", "--for", form, "See @file:README.md and @file:picture.png")
    for more in (
        ["--window", "1400"],
        ["--window", "600"],
        ["--window", "200"],
        ["--budget", "500"],
        ["--model", "gpt-4o"],
        ["--model", "claude-haiku-4-5"],
        ["--quiet"],
        ["--copy"],
    ):
        story.run("expand", *more, "Look at @file:src/big.py, @file:log.txt and @file:docs/style.md.")
        story.run("expand", "--json", *more, "Look at @file:src/big.py, @file:log.txt and @file:docs/style.md.")
    story.run("expand", "-", given="from stdin @file:README.md\n")
    story.run("expand", given=b"bad bytes \xff @file:README.md\n")
    story.run("expand", "--json", given="")
    for text in (
        "@",
        "@f",
        "@file:",
        "@file:ap",
        "look at @file:src/",
        "@folder:",
        "@git:",
        "@commit:",
        "@symbol:Ap",
        "@glob:**/",
        "#",
        "#docs/st",
        "[[",
        "[[de",
        "@memory:",
        "@file:odd/",
        "@file:src/app.py:",
        "@file:src/app.py#",
        "nothing",
        "@file:zzzzzz",
    ):
        story.both("complete", text)
    story.both("complete", "--max", "3", "@file:")
    story.both("complete", "--ignored", "@file:bui")
    story.both("config")
    story.both("config", "--model", "gpt-4o", "--window", "32k")
    story.world.write(".promptuary.toml", 'window = 9000\nanswer_model = "gpt-5"\nabsent = 1\n')
    configured = story.world.home / ".config/promptuary/config.toml"
    configured.parent.mkdir(parents=True)
    configured.write_text('window = 64000\n[models.fast]\nscripted = ["One.", "Two."]\n')
    story.both("config")
    configured.write_text("window = \n")
    story.both("config")
    configured.unlink()
    for shell in ("bash", "zsh", "fish"):
        story.run("completion", shell)


_STATED = "Please remember: I prefer tabs to spaces."
_DECIDED = "We decided to use Postgres."


def _threads(story: Story) -> None:
    run, both = story.run, story.both
    run("context", "add", "docs/style.md", "-t", "review")
    run("context", "add", "@diff", "-t", "review", "--json")
    run("context", "add", "src/app.py", "README.md", "-t", "review")
    run("context", "add", "src/absent.py", "-t", "review")
    run("context", "pin", "README.md", "-t", "review")
    both("context", "list", "-t", "review")
    both("context", "tokens", "-t", "review")
    both("context", "find", "app py", "-t", "review")
    run("expand", "-t", "review", "Review this, and @file:src/util/paths.py")
    both("thread", "list")
    run("expand", "-t", "review", "Another while one waits")
    run("reply", "-t", "review", "It looks fine.", "--cost", "0.01")
    run("reply", "-t", "review", "Again.")
    run("context", "unpin", "README.md", "-t", "review", "--json")
    run("context", "drop", "README.md", "-t", "review")
    run("context", "drop", "README.md", "-t", "review", "--json")
    run("expand", "-t", "review", "--json", "And @file:docs/deploy.md? " + _STATED)
    run("reply", "-t", "review", "--json", "It is done.")
    run("expand", "-t", "review", "-q", _DECIDED)
    run("reply", "-t", "review", "Good.")
    story.world.write("docs/style.md", "# Style\n\nLong names.\n")
    run("expand", "-t", "review", "--for", "anthropic", "What changed?")
    run("abandon", "-t", "review")
    run("abandon", "-t", "review", "--json")
    run("expand", "-t", "review", "--for", "openai-responses", "What changed now?")
    response = {
        "id": "x",
        "object": "chat.completion",
        "choices": [
            {
                "index": 0,
                "finish_reason": "tool_calls",
                "message": {
                    "role": "assistant",
                    "content": "Let me look.",
                    "tool_calls": [
                        {"id": "c1", "type": "function", "function": {"name": "read", "arguments": '{"path": "a"}'}}
                    ],
                },
            }
        ],
        "usage": {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15},
    }
    run("reply", "-t", "review", "--response", "-", given=json.dumps(response))
    run("reply", "-t", "review", "--response", "-", given="{broken")
    run("abandon", "-t", "review")
    for number in range(3):
        run("expand", "-t", "review", "--quiet", f"Question {number}: @file:log.txt:{number + 1}-{number + 5}")
        run("reply", "-t", "review", "--quiet", f"Answer {number}.")
    run("expand", "-t", "small", "--window", "3000", "-q", "Look at @file:src/big.py")
    run("reply", "-t", "small", "I did. " + "It has many functions. " * 40)
    run("expand", "-t", "small", "--window", "1500", "What have you seen in @file:docs/style.md?")
    run("reply", "-t", "small", "A style.")
    run("expand", "-t", "small", "--window", "300", "What have you seen in @file:docs/style.md?")
    run("abandon", "-t", "small")
    both("thread", "list")
    for turn in ((), ("1",), ("2",), ("99",), ("0",)):
        both("thread", "show", *turn, "-t", "review")
        both("thread", "replay", *turn, "-t", "review")
    both("thread", "replay", "1", "-t", "review", "--window", "700")
    both("thread", "history", "-t", "review")
    both("thread", "history", "-t", "small")
    both("thread", "history", "--all", "-t", "small")
    both("thread", "history", "-t", "reviw")
    both("thread", "show", "-t", "absent")
    run("thread", "export", "-t", "review")
    run("thread", "export", "-t", "review", "--format", "md")
    run("thread", "export", "-t", "review", "out.json")
    run("thread", "export", "-t", "review", "out.json", "--json")
    run("thread", "export", "-t", "review", "out.json", "--force")
    run("thread", "import", "out.json", "-t", "again")
    run("thread", "import", "out.json", "-t", "again", "--json")
    run("thread", "import", "out.json", "-t", "third", "--json")
    run("thread", "import", "README.md", "-t", "fourth")
    both("thread", "history", "-t", "again")
    run("thread", "rename", "again", "renamed")
    run("thread", "rename", "renamed", "review")
    run("thread", "rename", "third", "other", "--json")
    run("thread", "rm", "renamed")
    run("thread", "rm", "renamed", "--yes")
    run("thread", "rm", "other", "--yes", "--json")
    both("thread", "list")
    both("session", "audit", "docs/style.md")
    both("session", "audit", "src/util/paths.py", "--finished")
    both("session", "audit", "log.txt", "--limit", "2")
    both("session", "audit", "absent.md")
    both("session", "audit", "--turn", "1", "-t", "review")
    both("session", "audit", "--turn", "3", "-t", "review")
    both("session", "replay", "review", "2")
    both("session", "replay", "review", "2", "--window", "900")
    both("session", "forget", "log.txt", "--dry-run")
    run("session", "forget", "log.txt")
    run("session", "forget", "log.txt", "--yes")
    both("session", "audit", "log.txt")
    both("thread", "replay", "-t", "review")
    both("session", "prune", "--older-than", "1d", "--dry-run")
    run("session", "prune", "--older-than", "1d")
    both("doctor")
    both("purge", "--dry-run")


def _sessions(story: Story) -> None:
    run, both = story.run, story.both
    note = story.json("memory", "write", "--kind", "project", "We deploy on Fridays.")
    story.json("memory", "write", "--kind", "feedback", "Always answer briefly when we deploy.")
    lesson = story.json("experience", "add", "--solution", "make deploy", "deploy the site")
    run("session", "create", "release", "--root", "src", "--root", "docs")
    run("session", "create", "release")
    run("session", "create", "alone", "--no-memory", "--json")
    run("session", "create", "few", "--note", _id(note), "--experience", _id(lesson), "--root", "docs", "-t", "talk")
    run("session", "create", "none", "--no-notes", "--no-experiences", "--root", "absent")
    run("session", "create", "bad", "--note", "0000")
    both("session", "list")
    for name in ("release", "alone", "few", "absent"):
        both("session", "show", name)
    for thread in ("release", "alone", "talk"):
        run("expand", "-t", thread, "How do we deploy? @file:README.md @file:docs/deploy.md")
        run("reply", "-t", thread, "On Fridays. I prefer Mondays.")
    story.world.write("docs/deploy.md", "# Deploying\n\nWe deploy on Mondays.\n")
    story.world.write("docs/new.md", "# New\n")
    (story.world.work / "docs/style.md").unlink()
    both("session", "show", "release")
    run("expand", "-t", "release", "And now? @file:docs/deploy.md @file:docs/new.md")
    run("reply", "-t", "release", "On Mondays.")
    run("session", "refresh", "release")
    run("session", "refresh", "release", "--json")
    both("session", "show", "release")
    run("expand", "-t", "release", "--json", "And now? @file:docs/deploy.md")
    run("abandon", "-t", "release")
    run("session", "archive", "release")
    run("session", "archive", "release", "--json")
    run("expand", "-t", "release", "Still?")
    both("session", "list")
    run("session", "restore", "release")
    run("session", "restore", "release", "--json")
    both("session", "replay", "release", "1")
    both("session", "audit", "docs/deploy.md")
    both("session", "audit", f"memory:{_id(note)}")
    both("session", "audit", _id(lesson))
    run("session", "rm", "release")
    run("session", "rm", "release", "--yes")
    run("session", "rm", "alone", "--yes", "--json")
    both("session", "list")


def _memory(story: Story) -> None:
    run, both = story.run, story.both
    next_second()
    run("remember", "always use tabs")
    tabs = story.json("remember", "I live in Berlin.", "--tag", "place")
    for text in ("We decided to use Postgres.", "The wiki is at https://wiki.example/", "x", ""):
        next_second()
        run("remember", "--shared", text)
    next_second()
    run("remember", "-", given="From a pipe: the port is 8000.\n")
    secret = "The key is sk-abcdefghijklmnopqrstuvwxyz0123456789ABCD"
    run("remember", secret)
    deploy = story.json(
        "memory", "write", "--kind", "project", "--tag", "deploy", "--title", "Deploying",
        "--summary", "When we deploy.",
        "--reason", "asked", "--pin", "We deploy on Fridays, never before noon.",
    )  # fmt: skip
    old = story.json("memory", "write", "--kind", "reference", "--valid-until", "2026-01-31", "The old host is h1.")
    new = story.json("memory", "write", "--supersedes", _id(old), "The new host is h2.")
    key = _id(deploy)
    both("memory", "list")
    both("memory", "list", "--kind", "project")
    both("memory", "list", "--tag", "deploy")
    both("memory", "list", "--scope", "user")
    both("memory", "list", "--status", "all", "--limit", "2")
    both("memory", "list", "--as-of", "2026-01-01")
    both("memory", "show", key)
    both("memory", "show", "--raw", key)
    run("memory", "show", key[:6], _id(tabs))
    both("memory", "search", "when do we deploy?")
    both("memory", "search", "--explain", "host")
    both("memory", "search", "zebra")
    both("memory", "search", "--kind", "user", "tabs")
    revision = deploy["notes"][0]["rev"]
    next_second()
    run("memory", "write", "--id", key, "--if-rev", "0" * 12, "Never.")
    next_second()
    run("memory", "write", "--id", key, "--if-rev", revision, "We deploy on Mondays.")
    next_second()
    run("memory", "edit", key, "--content", "We deploy on Tuesdays, after nine.", "--reason", "changed")
    story.json("memory", "write", "--id", key, "--title", "When we deploy", "--tag", "weekly", "--unpin")
    run("memory", "edit", key)
    both("memory", "history", key)
    both("memory", "diff", key)
    both("memory", "diff", key, "--change", "1")
    next_second()
    run("memory", "undo", key)
    story.json("memory", "undo", key, "--reason", "again")
    both("memory", "show", key)
    next_second()
    run("memory", "archive", _id(new), "--reason", "gone")
    story.json("memory", "archive", _id(tabs))
    both("memory", "list", "--status", "archived")
    next_second()
    run("memory", "restore", _id(new))
    story.json("memory", "restore", _id(tabs))
    (story.world.work / "vault").mkdir()
    for name, text in (
        ("coffee.md", "---\ntitle: Coffee\ntags: [drink]\n---\nThe office has coffee.\n"),
        ("tea.md", "# Tea\n\nTea is in the kitchen. See [[coffee]].\n"),
    ):
        story.world.write(f"vault/{name}", text)
    both("memory", "import", "vault", "--dry-run")
    next_second()
    run("memory", "import", "vault")
    run("memory", "import", "vault", "--json")
    run("memory", "import", "absent")
    run("memory", "export", "out")
    run("memory", "export", "out")
    run("memory", "export", "out2", "--json")
    story.tree("export", story.world.work / "out")
    both("memory", "adopt")
    run("expand", "-t", "main", "-q", "How do we deploy? " + _STATED)
    next_second()
    run("reply", "-t", "main", "On Tuesdays.")
    run("expand", "-t", "main", "-q", _DECIDED)
    next_second()
    run("reply", "-t", "main", "Good.")
    both("memory", "proposals")
    found = story.json("memory", "proposals")
    waiting = [_id(one) for one in _rows(found, "proposals")]
    if waiting:
        next_second()
        run("memory", "accept", waiting[0], "--title", "Chosen")
        run("memory", "accept", waiting[0])
        story.json("memory", "reject", *waiting[1:2])
    next_second()
    run("memory", "accept", "--all")
    both("memory", "proposals")
    both("memory", "learn")
    both("memory", "forget", key, "--dry-run")
    run("memory", "forget", key)
    run("memory", "forget", key, "--yes")
    both("memory", "show", key)
    both("memory", "forget", _id(tabs), "--everywhere", "--dry-run")
    story.json("memory", "forget", _id(tabs), "--everywhere", "--yes")
    both("memory", "list")
    both("expand", '@memory:"host" @remember:"the lamp is green" [[When we deploy]]')
    run("expand", "-t", "main", "Which host do we use, and where does the wiki live?")
    run("reply", "-t", "main", "h2.")
    both("doctor")
    broken = next(iter(sorted((story.world.work / ".promptuary/memory").rglob("*.md"))), None)
    if broken:
        broken.write_text(broken.read_text() + "\nChanged by hand, with [[no such note]].\n")
    both("memory", "list")
    both("doctor")
    run("doctor", "--fix")
    run("doctor", "--fix", "--json")
    story.tree("work", story.world.work / ".promptuary")
    story.tree("home", story.world.home)


def _experiences(story: Story) -> None:
    run, both = story.run, story.both
    docs = story.json("experience", "add", "--solution", "make docs", "--tag", "docs", "build the docs")
    next_second()
    run("experience", "add", "--failure", "--problem", "no space left", "build the docs")
    next_second()
    run("experience", "add", "--prefer", "indentation", "tabs")
    site = story.json("experience", "add", "--solution", "make deploy", "--tag", "deploy", "deploy the site")
    story.json("experience", "add", "--solution", "make deploy", "--tag", "deploy", "deploy the site")
    run("experience", "add", "")
    both("experience", "list")
    both("experience", "list", "--plot")
    both("experience", "list", "--outcome", "failure")
    both("experience", "list", "--tag", "docs", "--limit", "1")
    both("experience", "find", "how do I build the docs?")
    both("experience", "find", "--explain", "--tag", "docs", "build")
    both("experience", "find", "--strict-tags", "--tag", "deploy", "build the site")
    both("experience", "find", "zebra")
    both("experience", "show", _id(docs))
    both("experience", "show", "ffff")
    next_second()
    run("experience", "feedback", "helped", _id(docs))
    story.json("experience", "feedback", "wrong", _id(docs))
    story.json("experience", "feedback", "stale", _id(site), _id(docs))
    both("experience", "list")
    both("experience", "prune", "--dry-run")
    both("experience", "prune", "--dry-run", "--min-weight", "0.9")
    run("experience", "decay")
    run("experience", "decay", "--half-life", "14", "--json")
    run("expand", "-t", "main", "build the docs please")
    run("reply", "-t", "main", "Done.")
    run("experience", "forget", _id(site))
    run("experience", "forget", _id(site), "--yes")
    run("experience", "forget", _id(docs), "--yes", "--json")
    run("experience", "prune", "--min-weight", "0.99")
    both("experience", "list")


def _search(story: Story) -> None:
    run, both = story.run, story.both
    both("search", "deploy")
    run("index", "docs", "--label", "guides")
    run("index", "--json")
    both("index", "--list")
    for words in (
        ("how do we deploy",),
        ('"page cache" life*',),
        ("--kind", "code", "join"),
        ("--kind", "markdown", "deploy"),
        ("--path", "docs/*", "--path", "!docs/style*", "names deploy"),
        ("--tag", "cache", "page"),
        ("--since", "2026-01-01", "--until", "2026-01-20", "page"),
        ("--since", "2026-06-01", "page"),
        ("--label", "guides", "deploy"),
        ("--explain", "rollback"),
        ("--full", "rollback"),
        ("-l", "deploy"),
        ("--lines", "deploy"),
        ("--lexical", "--limit", "1", "deploy"),
        ("zebra",),
        ("lifetime of a page",),
    ):
        both("search", *words)
    run("index", ".")
    both("search", "join parts")
    both("search", "App")
    both("search", "TOKEN")
    story.world.write("docs/added.md", "# Added\n\nThe zebra has stripes.\n")
    (story.world.work / "docs/style.md").unlink()
    both("search", "zebra")
    run("watch", "--once")
    run("watch", "--once", "--json")
    both("expand", '@search:"zebra stripes"')
    run("expand", "-t", "main", "Which animal has stripes, and when do we deploy?")
    run("index", "--remove", "docs")
    run("index", "--remove", "docs", "--json")
    run("index", "--rebuild")
    run("index", "--list")
    both("model", "list")
    both("model", "show", "minilm")
    both("model", "show", "bge-small-en-v1.5")
    both("doctor")


def _meaning(story: Story) -> None:
    story.variables["PROMPTUARY_EMBEDDER"] = "minilm"
    run, both = story.run, story.both

    def embed(*arguments: str) -> None:
        """Search until everything is embedded: a search waits for vectors only for a while."""
        for _ in range(3):
            story.world.program(arguments, b"", **story.variables)

    next_second()
    run("index", "docs")
    both("search", "how long do pages live")
    run("search", "--explain", "when can we release")
    story.json("memory", "write", "--kind", "project", "Releases go out on Fridays after lunch.")
    embed("memory", "search", "ship")
    both("memory", "search", "on which weekday do we ship?")
    story.json("experience", "add", "--solution", "make deploy", "deploy the site")
    embed("experience", "find", "ship")
    both("experience", "find", "ship the web page")
    run("expand", "-t", "main", "On which weekday do we ship the site?")


def _keeping(story: Story) -> None:
    run, both = story.run, story.both
    story.json("memory", "write", "--kind", "project", "We deploy on Fridays.")
    run("expand", "-t", "main", "-q", "Hello @file:README.md")
    run("reply", "-t", "main", "-q", "Hello.")
    run("backup", "one.zip")
    run("backup", "one.zip")
    run("backup", "one.zip", "--force", "--json")
    run("backup", "two.zip", "--everywhere", "--json")
    both("restore", "one.zip", "--dry-run")
    both("restore", "two.zip", "--dry-run", "--everywhere")
    run("restore", "README.md")
    run("expand", "-t", "main", "-q", "More")
    run("reply", "-t", "main", "-q", "Less.")
    run("restore", "one.zip")
    run("restore", "one.zip", "--force")
    both("thread", "history")
    both("purge", "--dry-run")
    both("purge", "--dry-run", "--everywhere", "--models")
    run("purge")
    run("purge", "--yes", "--json")
    both("thread", "list")
    run("restore", "one.zip", "--json")
    both("thread", "list")
    both("memory", "list")
    run("purge", "--everywhere", "--yes")
    both("doctor")


def _agents(story: Story) -> None:
    run, both = story.run, story.both
    next_second()
    run("memory", "write", "-q", "--kind", "project", "We deploy on Fridays, never before noon.")
    run("experience", "add", "-q", "--solution", "make deploy", "deploy the site")
    cwd = str(story.world.work)
    for agent, events in (
        ("claude-code", ("SessionStart", "UserPromptSubmit", "Stop", "PreCompact")),
        ("codex", ("SessionStart", "UserPromptSubmit", "Stop", "PreCompact")),
        ("gemini", ("SessionStart", "BeforeAgent", "AfterAgent", "PreCompress")),
    ):
        start, prompt, end, compact = events
        told: Mapping[str, str] = {"cwd": cwd, "session_id": f"s-{agent}"}
        run("hook", agent, start, given=json.dumps(told))
        asked = json.dumps({**told, "prompt": "When do we deploy the site? See @diff and @file:README.md"})
        run("hook", agent, prompt, given=asked)
        run("hook", agent, prompt, given=asked)
        run("hook", agent, prompt, given=json.dumps({**told, "prompt": "@file:log.txt @file:src/big.py"}))
        run("hook", agent, end, given=json.dumps({**told, "prompt": _STATED, "prompt_response": "Good."}))
        run("hook", agent, compact, given=json.dumps(told))
        for broken in ("", "null", "{", '{"cwd": 7}', '{"prompt": 7}'):
            run("hook", agent, prompt, given=broken)
    lines = [
        {"type": "user", "uuid": "1", "message": {"role": "user", "content": _STATED}},
        {
            "type": "assistant",
            "uuid": "2",
            "message": {"role": "assistant", "content": [{"type": "text", "text": "Good."}]},
        },
    ]
    story.world.write("talk.jsonl", "".join(json.dumps(one) + "\n" for one in lines))
    ended = {"cwd": cwd, "session_id": "t", "transcript_path": f"{cwd}/talk.jsonl"}
    next_second()
    run("hook", "claude-code", "Stop", given=json.dumps(ended))
    both("memory", "proposals")
    run("hook", "claude-code", "SessionStart", given=json.dumps({"cwd": cwd, "session_id": "u"}))
    for agent in ("claude-code", "codex", "gemini", "cursor", "zed", "vscode"):
        both("install", agent, "--dry-run")
        run("install", agent, "--dry-run", "--no-hooks")
        run("install", agent)
        run("install", agent, "--yes")
        story.tree(f"installed-{agent}", story.world.home)
        run("install", agent, "--yes", "--json")
        both("install", agent, "--undo", "--dry-run")
        run("install", agent, "--undo", "--yes")
    for file in (".claude.json", ".codex/config.toml", ".gemini/settings.json"):
        path = story.world.home / file
        path.parent.mkdir(exist_ok=True)
        path.write_text("# kept\nmodel = 'o3'\n" if file.endswith("toml") else '{\n  "kept": [1, 2]\n}\n')
    for agent, file in (
        ("claude-code", ".claude.json"),
        ("codex", ".codex/config.toml"),
        ("gemini", ".gemini/settings.json"),
    ):
        run("install", agent, "--yes")
        story.file(f"installed-{agent}", story.world.home / file)
        run("install", agent, "--undo", "--yes")
        story.file(f"undone-{agent}", story.world.home / file)
    configured = story.world.home / ".config/promptuary/config.toml"
    configured.parent.mkdir(parents=True, exist_ok=True)
    configured.write_text('[gateways.tg]\nplatform = "telegram"\ntoken_env = "ABSENT_TOKEN"\nallow = ["1"]\n')
    both("gateway", "check", "tg")
    both("gateway", "tg")
    both("config")


def _ask(story: Story) -> None:
    run, both = story.run, story.both
    folder = story.world.home / ".config/promptuary"
    folder.mkdir(parents=True)
    with ModelServer() as server:
        (folder / "config.toml").write_text(
            'answer_model = "fast"\n[models.fast]\nscripted = ["One.", "Two."]\n'
            f'[models.served]\nmodel = "gpt-4o"\nbase_url = "{server.url}"\nkey_env = "NET_KEY"\n'
            "window = 16000\ninput_price = 1.0\noutput_price = 2.0\n"
        )
        story.variables["NET_KEY"] = "net-key"
        both("config")
        both("ask", "What does @file:README.md say?")
        both("ask", "What does @file:absent.md say?")
        run("ask", "Explain:", given="some @file:README.md log\n")
        run("ask", "-t", "talk", "First?")
        run("ask", "-t", "talk", "--json", "Second? #README.md")
        both("thread", "show", "-t", "talk")
        served = ("ask", "--model", "served")
        for more in ((), ("--json",)):
            server.script(says("The answer is 42.", read=100, written=7))
            run(*served, "How much?", *more)
            server.script(
                says("Let me look.", calls("read_file", path="README.md")),
                says("It is an example.", read=200, written=9),
            )
            run(*served, "What is README.md?", *more)
            server.script(
                says("", calls("search_files", query="deploy")),
                says("", calls("search_recall_memories", query="deploy")),
                says("", calls("absent", x=1)),
                says("On Fridays."),
            )
            run(*served, "-t", "tools", "When do we deploy?", *more)
            server.script(
                says("", calls("write_memory", type="project", title="Port", content="The port is 1.")), says("Ok.")
            )
            next_second()
            run(*served, "-t", "tools", "--yes", "Remember the port.", *more)
            server.script(
                says("", calls("write_memory", type="project", title="Port", content="The port is 2.")), says("Ok.")
            )
            run(*served, "-t", "tools", "Remember the port again.", *more)
            server.script(says("Half an", stop="length"))
            run(*served, "Long?", *more)
            server.script((401, "Incorrect API key provided: net-key"))
            run(*served, "Refused?", *more)
            server.script((400, "maximum context length exceeded"))
            run(*served, "-t", "tools", "Refused?", *more)
            server.script(says("No tools."))
            run(*served, "--no-tools", "Plain?", *more)
        for number, request in enumerate(server.requests):
            path = folder.parent / f"request-{number}.json"
            path.write_text(json.dumps(request, indent=1, ensure_ascii=False))
            story.file(f"request-{number:02}", path)
        both("thread", "history", "-t", "tools")
        both("thread", "show", "-t", "tools")
        both("thread", "list")
        both("session", "replay", "talk", "1", "--model", "fast")
        both("memory", "list")
        both("experience", "list")
    run("chat", given="hello\n")
    run("chat", "-t", "talk", given="/help\n/why\nhello\n/quit\n")


def _rows(found: Any, key: str) -> list[Any]:
    rows = found.get(key, []) if isinstance(found, dict) else found
    return list(rows or [])


def _id(found: Any) -> str:
    """Return the id of what a command stored, wherever its JSON has it."""
    if isinstance(found, dict):
        for key in ("id", "notes", "experiences", "proposals"):
            if key in found:
                return _id(found[key]) if not isinstance(found[key], str) else found[key]
    if isinstance(found, list) and found:
        return _id(found[0])
    return "000000000000"


STORIES: Mapping[str, tuple[Callable[[Story], None], Callable[[Path], World]]] = {
    "threads": (_threads, make_world),
    "memory": (_memory, make_world),
    "agents": (_agents, make_world),
    "expanding": (_expanding, make_world),
    "ask": (_ask, make_world),
    "empty": (_empty, empty_world),
    "search": (_search, make_world),
    "sessions": (_sessions, make_world),
    "experiences": (_experiences, make_world),
    "keeping": (_keeping, make_world),
    "slips": (_slips, make_world),
    "meaning": (_meaning, make_world),
    "help": (_help, empty_world),
}
"""The stories, the longest first."""
