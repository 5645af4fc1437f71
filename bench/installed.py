"""What an installation takes on the disk: the core and each extra with all that they need, beside Python itself.

Counted from what the packages of this environment say they have installed; byte code, which comes with the first
start, is counted as well.
"""

import sysconfig
from collections.abc import Iterator
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import promptuary
from bench.report import Row, report

LARGEST = 6


def main() -> None:
    python = _below(Path(sysconfig.get_paths()["stdlib"]), without="site-packages")
    core = _closure("promptuary", "")
    rows = [
        Row("Python's own library", python, "MB", 1.0),
        Row(f"promptuary, {len(core)} packages in all", sum(core.values()), "MB", sum(core.values()) / python),
    ]
    largest = sorted(core.items(), key=lambda each: -each[1])[:LARGEST]
    rows += [Row(f"  of these: {name}", size, "MB") for name, size in largest]
    for extra in ("languages", "embeddings"):
        more = {name: size for name, size in _closure("promptuary", extra).items() if name not in core}
        rows.append(
            Row(f"promptuary[{extra}], {len(more)} more", sum(more.values()), "MB", sum(more.values()) / python)
        )
    report("Installed size (goal: the core well under 100 MB)", rows)


def _closure(name: str, extra: str) -> dict[str, float]:
    """Return the megabytes of a package and of all that it needs; what is not installed here is left out."""
    sizes: dict[str, float] = {}
    waiting = [(name, frozenset({extra}))]
    seen = set(waiting)
    while waiting:
        one, extras = waiting.pop()
        try:
            found = distribution(one)
        except PackageNotFoundError:
            continue
        sizes[canonicalize_name(one)] = _size(found)
        for need in _needs(found, extras):
            if need not in seen:
                seen.add(need)
                waiting.append(need)
    return sizes


def _needs(found: Distribution, extras: frozenset[str]) -> Iterator[tuple[str, frozenset[str]]]:
    for line in found.requires or ():
        need = Requirement(line)
        if need.marker is None or any(need.marker.evaluate({"extra": extra}) for extra in extras | {""}):
            yield canonicalize_name(need.name), frozenset(need.extras)


def _size(found: Distribution) -> float:
    """Return the megabytes of a package; ours is where it is imported from, for a checkout installs only a pointer."""
    if canonicalize_name(found.name) == "promptuary":
        return _below(Path(promptuary.__file__).parent)
    paths = [Path(str(file.locate())) for file in found.files or ()]
    return sum(path.stat().st_size for path in paths if path.is_file()) / 1e6


def _below(folder: Path, without: str = "") -> float:
    files = (path for path in folder.rglob("*") if not without or without not in path.parts)
    return sum(path.stat().st_size for path in files if path.is_file()) / 1e6


if __name__ == "__main__":
    main()
