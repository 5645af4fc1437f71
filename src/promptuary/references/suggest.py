"""What a person may have meant by a path that is not there."""

from difflib import get_close_matches

from promptuary.workspace.door import Workspace

_PATIENCE = 1.0


def did_you_mean(path: str, workspace: Workspace, *, wait: float = _PATIENCE) -> str:
    """Return `` Did you mean …?`` or nothing: the same name elsewhere goes before a similar one."""
    paths = workspace.files(wait=wait)
    name = path.rsplit("/", 1)[-1]
    same = [one for one in paths if one.rsplit("/", 1)[-1] == name]
    similar = same[:3] or get_close_matches(path, paths[:20_000], n=3, cutoff=0.75)
    return f" Did you mean {' or '.join(similar)}?" if similar else ""
