"""Watches by an audit hook who opens what: the one door to a workspace, held by behaviour.

For a path below a watched folder the innermost frame of the package must be in ``workspace/``, or, for what is below
``.promptuary/``, in a store (``STORES``). Programs are started and connections are made from ``workspace/`` alone; but
the client libraries of chat platforms make their own (``CLIENTS``). The interpreter raises no event for ``stat``, and
none for what compiled extensions do.

A hook cannot be removed, so there is one, which does nothing while nobody watches. Programs that a test starts watch
themselves (``sitecustomize`` beside this module) and append what they find to a file. As light as it can be, since
every program that is watched loads it: nothing here is imported but ``os``, ``sys`` and ``threading``.
"""

import os
import sys
import threading

ROOTS, PACKAGE, REPORT = "DOOR_ROOTS", "DOOR_PACKAGE", "DOOR_REPORT"
"""What a program is told by its environment: the folders to watch, where the package is, where to report."""

PATHS = {
    "open": 1,
    "glob.glob": 1,
    "os.chdir": 1,
    "os.chflags": 1,
    "os.chmod": 1,
    "os.chown": 1,
    "os.fwalk": 1,
    "os.getxattr": 1,
    "os.link": 2,
    "os.listdir": 1,
    "os.listxattr": 1,
    "os.mkdir": 1,
    "os.remove": 1,
    "os.removexattr": 1,
    "os.rename": 2,
    "os.rmdir": 1,
    "os.scandir": 1,
    "os.setxattr": 1,
    "os.symlink": 2,
    "os.truncate": 1,
    "os.utime": 1,
    "os.walk": 1,
    "pathlib.Path.glob": 1,
    "pathlib.Path.rglob": 1,
    "shutil.copyfile": 2,
    "shutil.move": 2,
    "shutil.rmtree": 1,
    "sqlite3.connect": 1,
    "tempfile.mkdtemp": 1,
    "tempfile.mkstemp": 1,
}
"""Events whose first arguments are paths, and how many."""

ELSEWHERE = frozenset(
    {
        "http.client.connect",
        "os.exec",
        "os.fork",
        "os.forkpty",
        "os.posix_spawn",
        "os.spawn",
        "os.startfile",
        "os.system",
        "pty.spawn",
        "socket.bind",
        "socket.connect",
        "socket.getaddrinfo",
        "socket.gethostbyaddr",
        "socket.gethostbyname",
        "socket.getnameinfo",
        "socket.sendmsg",
        "socket.sendto",
        "subprocess.Popen",
        "urllib.Request",
    }
)
"""Events of programs and connections, whatever they are about."""

CONNECTIONS = frozenset({"socket.bind", "socket.connect", "socket.getaddrinfo", "socket.sendmsg", "socket.sendto"})
"""Events of connections, of those of ``ELSEWHERE``."""

CLIENTS = frozenset({"cli/agents/gateway.py", "gateways/discord.py", "gateways/slack.py", "gateways/telegram.py"})
"""Modules that hand the connection to the client library of a platform, which opens it: it is what they are for. They
open no file and start no program, and an address never comes from a message. The command runs the event loop on which
the library connects, with nothing of ours in between."""

STORES = (
    "base/durable.py",
    "database/",
    "experiences/store.py",
    "gateways/inbox_store.py",
    "memory/store/",
    "search/index/",
    "search/vectors/store.py",
    "server/tokens.py",
    "sessions/manifest.py",
    "sessions/store.py",
    "threads/store/",
)
"""Modules that open files of the data folder."""

_TESTS = str(os.path.realpath(__file__)).partition("/architecture/")[0] + "/"


class Watch:
    """What was seen while it was on: ``passed`` counts events by where they came from, ``found`` are violations."""

    def __init__(self, package: str, roots: tuple[str, ...], report: str = "") -> None:
        self.package = os.path.realpath(package) + "/"
        self.roots = tuple(os.path.realpath(root) for root in roots)
        self.found: list[str] = []
        self.passed: dict[str, int] = {}
        self._report = report

    def see(self, event: str, arguments: tuple[object, ...]) -> None:
        """Judge one event."""
        if event in ELSEWHERE:
            self._judge(event, repr(arguments[0] if arguments else "")[:200])
            return
        for path in arguments[: PATHS[event]]:
            if event == "sqlite3.connect" and path == ":memory:":
                continue  # no file
            place, relative = _place(path)
            if root := self._root_of(place):
                private = ".promptuary" in place[len(root) :].split("/")
                self._judge(event, place, private=private, relative=relative)

    def _root_of(self, place: str) -> str:
        return next((root for root in self.roots if place == root or place.startswith(root + "/")), "")

    def _judge(self, event: str, what: str, *, private: bool = False, relative: bool = False) -> None:
        module = self._module()
        if module is None or (relative and module.startswith(("base/durable.py", "memory/store/"))):
            # A name in an open folder, which the event does not tell: what matters is who opened that one.
            return
        if module.startswith("workspace/") or (private and module.startswith(STORES)):
            room = module.partition("/")[0]
            self.passed[f"{room} {event}"] = self.passed.get(f"{room} {event}", 0) + 1
            return
        if module in CLIENTS and event in CONNECTIONS:
            self.passed[f"clients {event}"] = self.passed.get(f"clients {event}", 0) + 1
            return
        line = f"{event} of {what} by {module}"
        self.found.append(line)
        if self._report:
            descriptor = os.open(self._report, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
            os.write(descriptor, (line + "\n").encode("utf-8", "backslashreplace"))
            os.close(descriptor)

    def _module(self) -> str | None:
        """Return the innermost module of the package; ``None`` if a test, or an import, did it."""
        frames = [sys._getframe(4)]
        for frame in frames:
            name = frame.f_code.co_filename
            if name.startswith(self.package):
                module = name[len(self.package) :]
                return None if module.startswith("testing/") else module
            if name.startswith((_TESTS, "<frozen importlib")):
                return None
            if frame.f_back is not None:
                frames.append(frame.f_back)
        # Pytest tidies up in the main thread. Any other thread has been given something to open by somebody.
        return None if threading.current_thread() is threading.main_thread() else "a thread without a module of ours"


_watching: list[Watch] = []
_installed: list[bool] = []


def watch(watcher: Watch) -> None:
    """Let ``watcher`` see everything from now on."""
    if not _installed:
        _installed.append(True)
        sys.addaudithook(_hook)
    _watching.append(watcher)


def unwatch(watcher: Watch) -> None:
    """Let it see no more."""
    _watching.remove(watcher)


def from_environment() -> None:
    """Watch this program if its environment says so."""
    if os.environ.get(ROOTS):
        roots = tuple(os.environ[ROOTS].split(os.pathsep))
        watch(Watch(os.environ[PACKAGE], roots, os.environ[REPORT]))


def _hook(event: str, arguments: tuple[object, ...]) -> None:
    if _watching and (event in PATHS or event in ELSEWHERE):
        for watcher in _watching:
            watcher.see(event, arguments)


def _place(path: object) -> tuple[str, bool]:
    """Return where ``path`` leads, nowhere for an open file, and whether that depends on where one is."""
    path = os.curdir if path is None else path
    text = os.fsdecode(path) if isinstance(path, str | bytes | os.PathLike) else ""
    if text.startswith("file:"):
        text = text.removeprefix("file:").partition("?")[0]
    return os.path.realpath(text) if text else "", not text.startswith("/")
