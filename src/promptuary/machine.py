"""What surfaces need of this machine beside a workspace: a token, sockets, and settings files of other programs.

The functions of ``workspace/programs/agents`` for those who may not see the door; each is loaded when it is used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, BinaryIO

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from promptuary.workspace.programs.agents.config_files import Noted
    from promptuary.workspace.programs.agents.sockets import LocalSocket


def own_token(name: str) -> tuple[str, bool]:
    """Return the token called ``name``, which is made if there is none, and whether it is new."""
    from promptuary.workspace.programs.agents import token  # noqa: PLC0415  (as all imports here: few programs need it)

    return token.own_token(name)


def token_file(name: str) -> Path:
    """Return where the token called ``name`` is kept."""
    from promptuary.workspace.programs.agents import token  # noqa: PLC0415

    return token.token_file(name)


def listening_port(port: int) -> Any:
    """Return a socket that listens on loopback; port 0 means any that is free. Raises ``OSError`` if it is taken."""
    from promptuary.workspace.programs.agents import sockets  # noqa: PLC0415

    return sockets.listening_port(port)


def own_input() -> BinaryIO:
    """Take standard input for the caller alone: programs that are started from now on find nothing there."""
    from promptuary.workspace.programs.agents import sockets  # noqa: PLC0415

    return sockets.own_input()


def peer_is_own(one: Any) -> bool:
    """Tell whether the process at the other end of a local socket runs as the same user."""
    from promptuary.workspace.programs.agents import sockets  # noqa: PLC0415

    return sockets.peer_is_own(one)


def frame(message: Mapping[str, Any]) -> bytes:
    """Return a message to a hook as it is sent."""
    from promptuary.workspace.programs.agents import sockets  # noqa: PLC0415

    return sockets.frame(message)


def frame_length(head: bytes) -> int:
    """Return how long the message after ``head`` is. Raises ``ValueError`` if that is too long."""
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
    """Return the mark of the turn of a session of another agent that was learnt from last; empty if none was."""
    from promptuary.workspace.programs.agents import learnt  # noqa: PLC0415

    return learnt.learnt_mark(session)


def note_learnt(session: str, mark: str) -> None:
    """Note that a turn of a session of another agent was learnt from."""
    from promptuary.workspace.programs.agents import learnt  # noqa: PLC0415

    learnt.note_learnt(session, mark)


def start_aside(arguments: Sequence[str], given: bytes) -> bool:
    """Start this program again, apart from this process, with ``given`` as its input; return whether it began."""
    from promptuary.workspace.programs.agents import aside  # noqa: PLC0415

    return aside.start(arguments, given)


def config_text(path: Path) -> str | None:
    """Return the settings file of another program as text; ``None`` if there is none."""
    from promptuary.workspace.programs.agents import config_files  # noqa: PLC0415

    return config_files.config_text(path)


def apply_edits(client: str, edits: Sequence[tuple[Path, str | None, str]]) -> None:
    """Write changes of settings files (a path, the text that it has, the text that it gets), after noting the undo."""
    from promptuary.workspace.programs.agents import config_files  # noqa: PLC0415

    config_files.apply_edits(client, [config_files.Edit(*one) for one in edits])


def noted_files(client: str) -> Sequence[Noted]:
    """Return which settings files were changed for a client, and what they were before."""
    from promptuary.workspace.programs.agents import config_files  # noqa: PLC0415

    return config_files.noted_files(client)


def restored(one: Noted) -> bool:
    """Put a settings file back as it was, if nobody changed it since; return whether it is as it was."""
    from promptuary.workspace.programs.agents import config_files  # noqa: PLC0415

    return config_files.restored(one)


def write_config(path: Path, text: str) -> None:
    """Replace a settings file of another program."""
    from promptuary.workspace.programs.agents import config_files  # noqa: PLC0415

    config_files.write_config(path, text)


def forget_noted(client: str) -> None:
    """Forget what was changed for a client: it is undone."""
    from promptuary.workspace.programs.agents import config_files  # noqa: PLC0415

    config_files.forget_noted(client)
