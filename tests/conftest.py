"""What every test may use: a workspace to write files into, and figures that grow under ``make torture``."""

import gc
import itertools
import os
import re
import shutil
import signal
import subprocess
import warnings
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest
from hypothesis import HealthCheck, settings

import promptuary
from tests.architecture.audited import door

if TYPE_CHECKING:
    from promptuary.state import StateDatabase

TORTURE = bool(os.environ.get("PROMPTUARY_TORTURE"))

# The short slice tries the same examples on every machine, so that a change is judged by what it changed; new ones are
# looked for under ``make torture``.
settings.register_profile(
    "short",
    deadline=None,
    max_examples=30,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile("torture", deadline=None, max_examples=5_000, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("torture" if TORTURE else "short")

# Suites are no test modules: announced before anything imports them, so that their asserts explain themselves.
pytest.register_assert_rewrite(
    "tests.suites",
    "promptuary.testing.embedder_conformance",
    "promptuary.testing.reranker_conformance",
    "promptuary.testing.suites",
)

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # ``nohup make test &`` and some CI runners start with SIGINT ignored, and programs inherit that. With a handler
    # here, the programs that tests start get the default again, as they would from a terminal.
    signal.signal(signal.SIGINT, signal.default_int_handler)

_IN_MEMORY: Final = Path("/dev/shm")
_ROOM: Final = 8 << 30
"""Bytes that a file system in memory must have free: a whole run leaves three gigabytes, and its end removes them."""


def _has_room(folder: Path) -> bool:
    """Return whether the folders of tests may lie in ``folder``, and programs in them can be started there."""
    try:
        found = os.statvfs(folder)
    except OSError:
        return False
    return found.f_bavail * found.f_frsize >= _ROOM and not found.f_flag & os.ST_NOEXEC


if _has_room(_IN_MEMORY):
    # Tests make a hundred thousand small files and sync many of them: on a disk that takes a third of their time.
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(_IN_MEMORY))


_UNMEASURED: Final = ("tests/durability/", "tests/properties/", "tests/security/")
"""Folders whose tests do the same things many times over: their lines are run by the other tests, too, and counting
them once more would take as long as the tests themselves."""


_CLIENTS_OF_OTHERS: Final = (
    "tests/integrations/",
    "tests/interaction/test_gateway",
    "tests/interaction/test_hook_command",
    "tests/interaction/test_mcp",
    "tests/conformance/test_streaming_model",
    "tests/docs/test_gateways_page",
    "tests/durability/test_gateways",
    "tests/security/test_hostile_chats",
    "tests/unit/models/test_pydantic_ai_chat",
)
"""Tests with clients of other packages, some of which leave connections to the garbage collector."""
_ran_clients_of_others: Final[list[str]] = []
"""The modules of this process that have run with such clients."""
_UNCLOSED: Final = ("ignore:unclosed <socket:ResourceWarning", "ignore:unclosed transport:ResourceWarning")


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Keep garbage collection away from what is collected: it lives until the end, and to look at it takes long."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.freeze()


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Blame no test for a connection that a client before it left: an event loop in a thread may end much later."""
    if _ran_clients_of_others:
        for pattern in _UNCLOSED:
            item.add_marker(pytest.mark.filterwarnings(pattern))
    return (yield)


def pytest_collection_modifyitems(items: Sequence[pytest.Item]) -> None:
    for item in items:
        if item.nodeid.startswith(_CLIENTS_OF_OTHERS):
            for pattern in _UNCLOSED:
                item.add_marker(pytest.mark.filterwarnings(pattern))
        if item.nodeid.startswith(_UNMEASURED):
            item.add_marker(pytest.mark.no_cover)


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    """Return the address of a database of PostgreSQL, which is started for the first test that asks for it."""
    from tests.postgres import new_tenant, postgres_server

    given = os.environ.get("POSTGRES_URL", "")  # of one that runs already, such as a pooler before a server
    with nullcontext(given) if given else postgres_server() as url, closing(new_tenant(url)):
        yield url  # one workspace stays open, and with it the pool


@pytest.fixture(params=["sqlite", "postgres"])
def state(request: pytest.FixtureRequest, tmp_path: Path) -> "Iterator[StateDatabase]":
    """Open the state of a workspace: in a file, and as a tenant of PostgreSQL."""
    from promptuary.state import StateDatabase
    from tests.postgres import new_state

    made = (
        StateDatabase(tmp_path / "state.db")
        if request.param == "sqlite"
        else new_state(request.getfixturevalue("postgres"))
    )
    with closing(made):
        yield made


Figure = Callable[[int, int], int]
"""Chooses between the short slice that CI runs and the full figure of ``make torture``."""

Files = Callable[[Mapping[str, str | bytes]], Path]
"""Writes files into the workspace and returns its path."""


_numbers: Final = itertools.count()


def _new_folder(factory: pytest.TempPathFactory, name: str) -> Path:
    """Return a new folder. Pytest finds a free number by listing every folder of the run, at each test anew."""
    return factory.mktemp(f"{re.sub(r'[^a-zA-Z0-9_]', '_', name)[:30]}{next(_numbers)}", numbered=False)


@pytest.fixture
def tmp_path(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return _new_folder(tmp_path_factory, request.node.name)


@pytest.fixture(autouse=True)
def _own_home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """No test sees or changes the settings, state or git identity of whoever runs it."""
    home = _new_folder(tmp_path_factory, "home")
    for name in [name for name in os.environ if name.startswith(("PROMPTUARY_", "GIT_", "XDG_"))]:
        if name not in {"PROMPTUARY_TORTURE", "PROMPTUARY_UPDATE_SNAPSHOTS"}:
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    for role in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{role}_NAME", "Ada")
        monkeypatch.setenv(f"GIT_{role}_EMAIL", "ada@example.com")
        monkeypatch.setenv(f"GIT_{role}_DATE", "2026-01-02T03:04:05Z")


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wait for another process that indexes as long as it takes to see that somebody waits, not ten seconds."""
    monkeypatch.setattr("promptuary.search.service._INDEX_TIMEOUT", 0.3)


@pytest.fixture(autouse=True, scope="module")
def _connections_of_others(request: pytest.FixtureRequest) -> Iterator[None]:
    """Collect what clients of other packages left open before a test of ours could be blamed for it."""
    yield
    if request.node.nodeid.startswith(_CLIENTS_OF_OTHERS):
        _ran_clients_of_others.append(request.node.nodeid)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ResourceWarning)
            gc.collect()


@pytest.fixture(autouse=True)
def _door_is_watched(request: pytest.FixtureRequest) -> Iterator[None]:
    """While a command runs as a person runs it, nobody but the door touches what is below the test's own folder."""
    if "interaction" not in request.path.parts:
        yield
        return
    tmp_path: Path = request.getfixturevalue("tmp_path")
    with watched(tmp_path, request.getfixturevalue("monkeypatch")) as watcher:
        yield
    assert watcher.found == []


@contextmanager
def watched(root: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[door.Watch]:
    """Watch who touches what is below ``root``, in this process and in the programs that it starts."""
    report = root.with_name(f"{root.name}.report")
    package = str(Path(promptuary.__file__).parent)
    for name, value in ((door.ROOTS, str(root)), (door.PACKAGE, package), (door.REPORT, str(report))):
        monkeypatch.setenv(name, value)
    folders = [str(Path(door.__file__).parent), *filter(None, [os.environ.get("PYTHONPATH")])]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(folders))
    watcher = door.Watch(package, (str(root),))
    door.watch(watcher)
    try:
        yield watcher
    finally:
        door.unwatch(watcher)
        if report.exists():
            watcher.found += report.read_text(encoding="utf-8").splitlines()


OVER_A_SERVER: Final = frozenset((Path(door.__file__).parents[2] / "over_a_server.txt").read_text("utf-8").split())
"""Tests of the public interface that run twice: on a folder, and as a client of a real server of that folder."""


ON_POSTGRES: Final = frozenset((Path(door.__file__).parents[2] / "on_postgres.txt").read_text("utf-8").split())
"""Tests that run once more with the state of their workspace in PostgreSQL."""
_WALLS: Final = "tests/properties/test_principals_are_apart.py"
"""Those there run with the policies alone, though queries forget the owner, and with the queries alone."""


_NOTES: Final = (
    "tests/interaction/test_contradicting_notes",
    "tests/interaction/test_learning_aside",
    "tests/interaction/test_memory_command",
    "tests/unit/changes/",
    "tests/unit/memory/",
    "tests/unit/sessions/",
)
"""Those there run with notes in PostgreSQL, too, but for those that look at files of notes or change them by hand."""
_IN_FILES: Final = frozenset(
    {
        "test_a_note_that_came_with_a_clone_stands_inside_a_boundary_with_its_title",
        "test_a_note_whose_file_is_gone_can_be_had_back",
        "test_the_history_knows_of_an_edit_by_hand_at_once",
        "test_undo_finds_a_note_that_was_moved_by_hand",
        "test_undo_undoes_an_edit_by_hand",
        "test_show_raw_prints_the_file_byte_for_byte",
        "test_what_came_with_a_clone_is_listed_with_the_reason_and_adopted",
    }
)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    name = metafunc.definition.nodeid.partition("[")[0]
    databases = ["policies alone", "queries alone"] if name.startswith(_WALLS) else ["postgres"]
    if name.startswith(_NOTES) and name.rpartition("::")[2] not in _IN_FILES:
        databases.append("notes in postgres")
    places = ["server"] * (name in OVER_A_SERVER) + databases * (name in ON_POSTGRES)
    if places:
        metafunc.parametrize("_place", ["folder", *places], indirect=True)


@pytest.fixture(autouse=True)
def _place(request: pytest.FixtureRequest, _own_home: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let a test open its folder, have its state in PostgreSQL, or be the client of a server of the folder."""
    place = getattr(request, "param", "folder")
    if place in {"postgres", "notes in postgres", "policies alone", "queries alone"}:
        from promptuary.database import postgres as driver
        from promptuary.database.tenant import TenantDatabase
        from tests.postgres import as_superuser, as_worker, without_owners

        url = request.getfixturevalue("postgres")
        monkeypatch.setenv("PROMPTUARY_DATABASE", as_superuser(url) if place == "queries alone" else as_worker(url))
        if place != "postgres":
            monkeypatch.setenv("PROMPTUARY_NOTES", "database")
        if place == "policies alone":
            monkeypatch.setattr(driver, "translate", without_owners)
        with closing(TenantDatabase(os.environ["PROMPTUARY_DATABASE"], "")):  # with it the pool stays open
            yield
        return
    if place != "server":
        yield
        return
    from tests.served import opened_at_servers

    with opened_at_servers(monkeypatch):
        yield


@pytest.fixture
def figure() -> Figure:
    return lambda short, full: full if TORTURE else short


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    path = tmp_path / "workspace"
    path.mkdir()
    return path


@pytest.fixture
def files(workspace: Path) -> Files:
    def write(contents: Mapping[str, str | bytes]) -> Path:
        for name, content in contents.items():
            path = workspace / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content.encode() if isinstance(content, str) else content)
        return workspace

    return write


def git(folder: Path, *arguments: str) -> str:
    """Run the real git in ``folder``, as a person would."""
    done = subprocess.run(["git", *arguments], cwd=folder, check=True, capture_output=True, text=True)
    return done.stdout


@pytest.fixture(scope="session")
def _empty_repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a repository once; to copy it takes a tenth of the time."""
    folder = _new_folder(tmp_path_factory, "empty_repository")
    git(folder, "-c", "init.templateDir=", "init", "-q", "-b", "main")
    for name in ("hooks", "info"):
        (folder / ".git" / name).mkdir(exist_ok=True)
    return folder / ".git"


@pytest.fixture
def repository(workspace: Path, _empty_repository: Path) -> Path:
    shutil.copytree(_empty_repository, workspace / ".git")
    return workspace


Template = Callable[[Callable[[Path], object]], Path]
"""Returns the workspace as a repository that a function made of an empty one; it is called once for all tests."""

_templates: Final[dict[object, Path]] = {}


@pytest.fixture
def template(workspace: Path, _empty_repository: Path, tmp_path_factory: pytest.TempPathFactory) -> Template:
    """Make a repository for the first test that asks for it, and copy it for the others: most git is not started."""

    def made(build: Callable[[Path], object]) -> Path:
        if build not in _templates:
            folder = _new_folder(tmp_path_factory, "template")
            shutil.copytree(_empty_repository, folder / ".git")
            build(folder)
            _templates[build] = folder
        return Path(shutil.copytree(_templates[build], workspace, symlinks=True, dirs_exist_ok=True))

    return made
