"""The prompts of a principal: found in their places, filled, and made.

Those of the person's own folders are theirs alone. One of the workspace may come with a clone: it is used after the
person has read and accepted it, and again when it changes. Others who use the workspace get what the person accepted.
"""

import os
from collections.abc import Iterator
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from promptuary.base.errors import FrontMatterError, PromptNotAcceptedError, PromptuaryError, UnknownPromptError
from promptuary.base.text import list_names, one_line
from promptuary.prompts.filling import PromptArguments, filled_text
from promptuary.prompts.forms import read_prompt
from promptuary.prompts.places import (
    BAD_NAME,
    OWN_ENDING,
    SKILL,
    WORKSPACE_FOLDERS,
    PromptFolder,
    is_name,
    name_of,
    own_folder,
    person_folders,
)
from promptuary.prompts.values import FilledPrompt, NamedPrompt, PromptList, PromptPlace, UnusedPrompt
from promptuary.workspace.prompt_files import (
    MAX_BYTES,
    PromptFiles,
    accept,
    accepted,
    person_prompts,
    workspace_prompts,
    write_prompt,
)
from promptuary.workspace.prompt_files import own_folder as own_folder_of

if TYPE_CHECKING:
    from promptuary.app import App

STARTER: Final = """\
---
description: What it is for, in a line
arguments:
  - name: focus
    description: what to look at most
    default: mistakes
references:
  - "@diff"
---
Review these changes. Look at {{focus}} most.
"""
_SHOWN: Final = 60


class Prompts:
    """The prompts that one principal may use in one workspace."""

    def __init__(self, app: "App") -> None:
        self._app = app

    @property
    def _is_person(self) -> bool:
        """Whether the principal is the person who runs this program, whose folders these are."""
        return not self._app.served and not self._app.workspace.access.is_limited

    def list(self) -> PromptList:
        """Return the prompts by name, and the files that are none."""
        by_name: dict[str, NamedPrompt] = {}
        unused: list[UnusedPrompt] = []
        for found in self._found():
            if isinstance(found, UnusedPrompt):
                unused.append(found)
            elif not self._is_person and not found.accepted:
                continue
            elif (first := by_name.setdefault(found.name.lower(), found)) is not found:
                unused.append(UnusedPrompt(found.source, f"{first.source} has the name {first.name}, too, and wins"))
        prompts = sorted(by_name.values(), key=lambda one: one.name.lower())
        return PromptList(tuple(prompts), tuple(unused) if self._is_person else ())

    def get(self, name: str) -> NamedPrompt:
        """Return a prompt. Raises ``UnknownPromptError`` with the nearest names."""
        by_name = {one.name.lower(): one for one in self.list().prompts}
        if (found := by_name.get(name.lower())) is not None:
            return found
        within = [one for one in by_name if name and name.lower() in one]
        near = within[:3] or get_close_matches(name.lower(), by_name, n=3, cutoff=0.5)
        others = [by_name[one].name for one in near]
        advice = f"did you mean {list_names(others)}?" if near else "promptuary prompt list shows the prompts"
        raise UnknownPromptError(f"there is no prompt {one_line(name)[:_SHOWN]!r}; {advice}")

    def fill(self, name: str, given: PromptArguments = "") -> FilledPrompt:
        """Return the message that a prompt gives. Raises ``PromptNotAcceptedError`` until the person accepted it."""
        prompt = self.get(name)
        if not prompt.accepted:
            raise PromptNotAcceptedError(
                f"{prompt.source} came with the workspace, and nobody has read it yet: promptuary prompt show "
                f"{prompt.name} prints it; with --accept, it can be used as it is now"
            )
        return FilledPrompt(filled_text(prompt, given), prompt)

    def accept(self, prompt: NamedPrompt) -> NamedPrompt:
        """Record that the person has read ``prompt`` as it is here; they are asked again when its file changes."""
        self._check_person()
        if prompt.place == "workspace":
            accept(self._root, prompt.path, prompt.sha256)
        return replace(prompt, accepted=True)

    def new(self, name: str, text: str | None = None, *, here: bool = False) -> NamedPrompt:
        """Make a prompt in the person's own folder or, with ``here``, in the workspace's."""
        self._check_person()
        if not is_name(name):
            raise PromptuaryError(f"{one_line(name)[:_SHOWN]!r} cannot be the name of a prompt: {BAD_NAME}")
        path, text = f"{name.replace(':', '/')}{OWN_ENDING}", STARTER if text is None else text
        _check(text)
        folder = own_folder_of(self._root) if here else own_folder()
        if folder is None:
            raise PromptuaryError("you have no home folder; add --here")
        write_prompt(folder, path, text.encode(), None)
        return self._written(name, "workspace" if here else "person")

    def rewrite(self, prompt: NamedPrompt, text: str) -> NamedPrompt:
        """Replace the text of a prompt that is a file of this program. Raises ``PromptuaryError`` if it has changed."""
        self._check_person()
        folder, path = self._file(prompt)
        _check(text)
        write_prompt(folder, path, text.encode(), prompt.sha256)
        return self._written(prompt.name, prompt.place)

    def _file(self, prompt: NamedPrompt) -> tuple[Path, str]:
        if prompt.form != "promptuary":
            raise PromptuaryError(f"{prompt.source} is a file of another program; change it with your editor")
        folder = own_folder_of(self._root) if prompt.place == "workspace" else own_folder()
        return folder or Path(), f"{prompt.name.replace(':', '/')}{OWN_ENDING}"

    def _written(self, name: str, place: PromptPlace) -> NamedPrompt:
        """Return a prompt that the person has just written, which therefore need not be read first."""
        for found in self._found():
            if isinstance(found, NamedPrompt) and (found.name, found.place, found.form) == (name, place, "promptuary"):
                return self.accept(found)
        raise PromptuaryError(f"{name} was written, and is not there any more")

    @property
    def _root(self) -> Path:
        return self._app.workspace.root.path

    def _check_person(self) -> None:
        if not self._is_person:
            raise PromptuaryError("only the person at the machine of the workspace may change or accept prompts")

    def _found(self) -> Iterator[NamedPrompt | UnusedPrompt]:
        """Yield every prompt and every file that is none; the first of a name wins."""
        home = Path(os.path.expanduser("~"))  # noqa: PTH111  (it does not fail without a home)
        persons = person_folders() if self._is_person else {}
        for folder, kind in persons.items():
            shown = f"~/{folder.relative_to(home)}" if folder.is_relative_to(home) else str(folder)
            yield from _prompts(person_prompts(folder, kind.ending, kind.depth), kind, shown, "person")
        workspace, read = self._app.workspace, accepted(self._root)
        for inner, kind in WORKSPACE_FOLDERS.items():
            if self._root / inner in persons:
                continue  # the workspace is the home folder
            for one in _prompts(workspace_prompts(workspace, inner, kind.ending, kind.depth), kind, inner, "workspace"):
                is_read = isinstance(one, NamedPrompt) and read.get(one.path) == one.sha256
                yield replace(one, accepted=is_read) if isinstance(one, NamedPrompt) else one


def _prompts(
    files: PromptFiles, kind: PromptFolder, folder: str, place: PromptPlace
) -> Iterator[NamedPrompt | UnusedPrompt]:
    for path, reason in files.skipped.items():
        yield UnusedPrompt(one_line(f"{folder}/{path}".rstrip("/")), reason)
    for file in files.files:
        source = one_line(f"{folder}/{file.path}")
        if kind.form == "skill" and file.path.rpartition("/")[2] != SKILL:
            continue
        try:
            read = read_prompt(kind.form, file.text)
        except FrontMatterError as error:
            yield UnusedPrompt(source, str(error))
            continue
        name = name_of(kind.form, file.path, read.name)
        if not is_name(name):
            yield UnusedPrompt(source, BAD_NAME)
            continue
        yield NamedPrompt(
            name=name,
            form=kind.form,
            place=place,
            source=source,
            sha256=file.sha256,
            file=file.text,
            template=read.template,
            description=read.description,
            hint=read.hint,
            arguments=read.arguments,
            model=read.model,
            notes=read.notes,
            path=f"{folder}/{file.path}" if place == "workspace" else "",
        )


def _check(text: str) -> None:
    if len(text.encode("utf-8", "surrogatepass")) > MAX_BYTES:
        raise PromptuaryError(f"a prompt has at most {MAX_BYTES:,} bytes; write less")
    try:
        read_prompt("promptuary", text)
        text.encode()
    except FrontMatterError as error:
        raise PromptuaryError(f"nothing was written: {error}") from error
    except UnicodeEncodeError as error:
        raise PromptuaryError("the text is not valid UTF-8; convert it first") from error
