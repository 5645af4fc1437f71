"""Finds a note by its name alone, as in ``[[note]]``. Pure.

A name is that of a file without its ``.md``, optionally with the folders right above it. Case is ignored. Of several
notes with one name, the one in the fewest folders is meant, as in the programs that people use for such notes.
"""

from collections.abc import Iterable

_ENDINGS = (".md", ".markdown")


class NoteNames:
    """The names of files, with and without their endings; each is looked up in one step."""

    def __init__(self, paths: Iterable[str]) -> None:
        self._paths: dict[str, list[str]] = {}
        for path in paths:
            name = path.rpartition("/")[2].casefold()
            for known in {name, _without_ending(name)}:
                self._paths.setdefault(known, []).append(path)

    def named(self, name: str) -> list[str]:
        """Return the files that ``name`` means, the likeliest first."""
        wanted = name.strip("/").casefold()
        candidates = self._paths.get(wanted.rpartition("/")[2], ())
        found = [path for path in candidates if "/" not in wanted or _ends_in(path.casefold(), wanted)]
        return sorted(found, key=lambda path: (path.count("/"), len(path), path))


def _without_ending(name: str) -> str:
    return next((name.removesuffix(ending) for ending in _ENDINGS if name.endswith(ending)), name)


def _ends_in(path: str, wanted: str) -> bool:
    return f"/{path}".endswith(f"/{wanted}") or f"/{_without_ending(path)}".endswith(f"/{wanted}")
