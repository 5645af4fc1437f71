"""What surfaces need from this machine besides a workspace: a token, sockets, and settings files of other programs.

The functions of ``workspace/programs/agents`` for code that may not import the door; each is imported on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, BinaryIO

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from promptuary.workspace.programs.agents.config_files import NotedSettings as NotedSettings  # noqa: PLC0414  (for code that may not import the door)
    from promptuary.workspace.programs.agents.config_files import SettingsEdit
    from promptuary.workspace.programs.agents.config_files import WrittenEntry as WrittenEntry  # noqa: PLC0414
    from promptuary.workspace.programs.agents.sockets import LocalSocket


def own_token(name: str) -> tuple[str, bool]:
    """Return the token called ``name``, creating it if there is none, and whether it is new."""
    from promptuary.workspace.programs.agents import token  # noqa: PLC0415  (as all imports here: few programs need it)

    return token.own_token(name)


def token_file(name: str) -> Path:
    """Return the file of the token called ``name``."""
    from promptuary.workspace.programs.agents import token  # noqa: PLC0415

    return token.token_file(name)


def listening_port(port: int) -> Any:
    """Return a socket that listens on loopback; port 0 means any that is free. Raises ``OSError`` if it is taken."""
    from promptuary.workspace.programs.agents import sockets  # noqa: PLC0415

    return sockets.listening_port(port)


def own_streams() -> tuple[BinaryIO, BinaryIO]:
    """Reserve standard input and output for the caller: nothing else reads or prints there."""
    from promptuary.workspace.programs.agents import sockets  # noqa: PLC0415

    return sockets.own_streams()


def discard_output(stream: BinaryIO) -> None:
    """Discard what was not written to ``stream``, without waiting for its reader."""
    from promptuary.workspace.programs.agents import sockets  # noqa: PLC0415

    sockets.discard_output(stream)


def peer_is_own(one: Any) -> bool:
    """Return whether the process at the other end of a local socket runs as the same user."""
    from promptuary.workspace.programs.agents import sockets  # noqa: PLC0415

    return sockets.peer_is_own(one)


def frame(message: Mapping[str, Any]) -> bytes:
    """Return the bytes of a message to a hook."""
    from promptuary.workspace.programs.agents import sockets  # noqa: PLC0415

    return sockets.frame(message)


def frame_length(head: bytes) -> int:
    """Return the length of the message after ``head``. Raises ``ValueError`` if it is too long."""
    from promptuary.workspace.programs.agents import sockets  # noqa: PLC0415

    return sockets.frame_length(head)


def local_socket(workspace: Path) -> LocalSocket:
    """Return a socket on which this process answers programs of the same person about a workspace."""
    from promptuary.workspace.programs.agents import sockets  # noqa: PLC0415

    return sockets.LocalSocket(workspace)


def ask_local(folder: str, question: Mapping[str, Any], *, timeout: float) -> dict[str, Any] | None:
    """Ask a process that has the workspace around ``folder`` open; ``None`` if there is none, or none answers."""
    from promptuary.workspace.programs.agents import sockets  # noqa: PLC0415

    return sockets.ask(folder, question, timeout=timeout)


def read_transcript(path: str) -> bytes | None:
    """Return the end of a transcript that a program of the same person writes; ``None`` if it cannot be read."""
    from promptuary.workspace.programs.agents import transcript  # noqa: PLC0415

    return transcript.read_end(path)


def learnt_mark(session: str) -> str:
    """Return the mark of the last turn of another agent's session that was learnt from; empty if there is none."""
    from promptuary.workspace.programs.agents import learnt  # noqa: PLC0415

    return learnt.learnt_mark(session)


def note_learnt(session: str, mark: str) -> None:
    """Record that a turn of another agent's session was learnt from."""
    from promptuary.workspace.programs.agents import learnt  # noqa: PLC0415

    learnt.note_learnt(session, mark)


def shown_marks(session: str) -> list[str]:
    """Return the marks of what a session of another agent was shown; none without a session."""
    from promptuary.workspace.programs.agents import learnt  # noqa: PLC0415

    return learnt.shown_marks(session) if session else []


def note_shown(session: str, marks: Sequence[str], *, anew: bool) -> None:
    """Record what a session of another agent was shown; ``anew``: it has nothing of what it was shown before."""
    from promptuary.workspace.programs.agents import learnt  # noqa: PLC0415

    learnt.note_shown(session, marks, anew=anew)


def start_aside(arguments: Sequence[str], given: bytes, **variables: str) -> bool:
    """Start this program as a separate process, with ``given`` as its input; return whether it started."""
    from promptuary.workspace.programs.agents import aside  # noqa: PLC0415

    return aside.start(arguments, given, variables)


def config_text(path: Path) -> str | None:
    """Return the settings file of another program as text; ``None`` if there is none."""
    from promptuary.workspace.programs.agents import config_files  # noqa: PLC0415

    return config_files.config_text(path)


def check_writable(path: Path) -> None:
    """Raise ``PromptuaryError`` if the settings file of another program may not be written."""
    from promptuary.workspace.programs.agents import config_files  # noqa: PLC0415

    config_files.check_writable(path)


def settings_edit(path: Path, before: str | None, after: str | None, **rest: Any) -> SettingsEdit:
    """Return a change of another program's settings file; ``rest`` are its other fields."""
    from promptuary.workspace.programs.agents import config_files  # noqa: PLC0415

    return config_files.SettingsEdit(path, before, after, **rest)


def written_entry(kind: str, path: tuple[str, ...], values: tuple[Any, ...]) -> WrittenEntry:
    """Return an entry of a settings file, as it is recorded."""
    from promptuary.workspace.programs.agents import config_files  # noqa: PLC0415

    return config_files.WrittenEntry(kind, path, values)


def apply_edits(client: str, edits: Sequence[SettingsEdit]) -> None:
    """Write changes of settings files, after recording how to undo them."""
    from promptuary.workspace.programs.agents import config_files  # noqa: PLC0415

    config_files.apply_edits(client, edits)


def undo_edits(client: str, edits: Sequence[SettingsEdit]) -> Mapping[Path, str]:
    """Write settings files without our entries; return the reason for each file that could not be written."""
    from promptuary.workspace.programs.agents import config_files  # noqa: PLC0415

    return config_files.undo_edits(client, edits)


def noted_files(client: str) -> Sequence[NotedSettings]:
    """Return which settings files were changed for a client, and what was written into them."""
    from promptuary.workspace.programs.agents import config_files  # noqa: PLC0415

    return config_files.noted_files(client)
