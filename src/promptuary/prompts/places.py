"""Where prompts lie: folders of the person and of the workspace, whose form their files have, and what they are called.

Decides by names alone, and opens nothing.
"""

import os
import re
from pathlib import Path
from typing import Final

from msgspec import Struct

from promptuary.config.settings import user_file
from promptuary.prompts.values import Form
from promptuary.workspace.prompt_files import MAX_DEPTH, OWN_FOLDER

LONGEST_NAME: Final = 100
_PART: Final = r"[A-Za-z0-9](?:[A-Za-z0-9]|[._-](?=[A-Za-z0-9]))*"
_NAME: Final = re.compile(rf"(?=[^A-Za-z]*[A-Za-z]){_PART}(?::{_PART})*")
BAD_NAME: Final = "its name cannot be typed as that of a command; use letters, digits, '.', '-' and '_', in ASCII"
OWN_ENDING: Final = ".md"
SKILL: Final = "SKILL.md"


class PromptFolder(Struct, frozen=True):
    """A folder with files of one form: their ending, and how many folders deep they lie at most."""

    form: Form
    ending: str
    depth: int = MAX_DEPTH


_MARKDOWN: Final = PromptFolder("promptuary", OWN_ENDING)
_CLAUDE: Final = PromptFolder("claude", ".md")
_SKILLS: Final = PromptFolder("skill", SKILL.lower(), 1)
_CODEX: Final = PromptFolder("codex", ".md", 0)
_GEMINI: Final = PromptFolder("gemini", ".toml")
_LLM: Final = PromptFolder("llm", ".yaml", 0)

WORKSPACE_FOLDERS: Final = {
    OWN_FOLDER: _MARKDOWN,
    ".claude/commands": _CLAUDE,
    ".claude/skills": _SKILLS,
    ".gemini/commands": _GEMINI,
}
"""The folders of a workspace. Whoever comes first has the name."""


def own_folder() -> Path | None:
    """Return the folder of the person's own prompts, which need not exist; ``None`` for a user without a home."""
    file = user_file()
    return None if file is None else file.parent / "prompts"


def person_folders() -> dict[Path, PromptFolder]:
    """Return the folders of the person, each of which need not exist. Whoever comes first has the name."""
    own, home = own_folder(), Path(os.path.expanduser("~"))  # noqa: PTH111  (it does not fail without a home)
    claude = _chosen("CLAUDE_CONFIG_DIR", home / ".claude")
    config = _chosen("XDG_CONFIG_HOME", home / ".config")
    others = {
        claude / "commands": _CLAUDE,
        claude / "skills": _SKILLS,
        _chosen("CODEX_HOME", home / ".codex") / "prompts": _CODEX,
        home / ".gemini" / "commands": _GEMINI,
        _chosen("LLM_USER_PATH", config / "io.datasette.llm") / "templates": _LLM,
    }
    return ({} if own is None else {own: _MARKDOWN}) | others


def _chosen(variable: str, otherwise: Path) -> Path:
    given = os.environ.get(variable, "")
    return Path(given) if given.startswith("/") else otherwise


def name_of(form: Form, path: str, own_name: str) -> str:
    """Return the name of the prompt in a file, by its path from its folder; ``own_name`` is the one that it says."""
    if form == "skill":
        return own_name or path.partition("/")[0]
    return path[: path.rindex(".")].replace("/", ":")


def is_name(name: str) -> bool:
    """Return whether a prompt can have this name: it can be typed, and is no path."""
    return len(name) <= LONGEST_NAME and _NAME.fullmatch(name) is not None
