"""``promptuary prompt``: lists, shows, makes and changes prompts, which ``promptuary ask -p NAME`` uses."""

import argparse
import sys
from typing import Final

from promptuary.base.errors import PromptuaryError, UnknownPromptError
from promptuary.base.table import Column
from promptuary.base.text import one_line
from promptuary.blocking import Promptuary
from promptuary.cli.common import open_workspace, print_json, standard_input
from promptuary.cli.memory.printing import say, say_kept
from promptuary.cli.terminal import headed_table, is_terminal
from promptuary.commands.registry import EVERYTHING
from promptuary.present.prompts import prompt_json, prompt_lines, prompt_list_json, prompt_row, unused_lines
from promptuary.prompts.values import NamedPrompt
from promptuary.workspace.programs.editor import edit_copy

DONE: Final = 0
NOTHING: Final = 1
_NONE_YET: Final = "no prompts yet: promptuary prompt new NAME makes one"


def main(options: argparse.Namespace) -> int:
    """Run one action on prompts."""
    action, names = options.action, options.words
    if (action == "list") == bool(names) or (action != "new" and len(names) > 1):
        takes = {"list": "", "new": " NAME [TEXT]"}.get(action, " NAME")
        raise PromptuaryError(f"usage: promptuary prompt {action}{takes}")
    with open_workspace(options) as promptuary:
        try:
            match action:
                case "list":
                    return _list(promptuary, options)
                case "show":
                    return _show(promptuary, promptuary.prompts.get(names[0]), options)
                case "new":
                    return _new(promptuary, names[0], options)
                case _:
                    return _edit(promptuary, promptuary.prompts.get(names[0]), options)
        except UnknownPromptError as error:
            say(f"promptuary: {error}")
            return NOTHING


def _list(promptuary: Promptuary, options: argparse.Namespace) -> int:
    found = promptuary.prompts.list()
    if options.json:
        print_json(prompt_list_json(found))
    elif options.quiet:
        print("".join(f"{one.name}\n" for one in found.prompts), end="")
    elif found.prompts:
        columns = (Column("prompt"), Column("takes"), Column("what it is for"), Column("from"))
        print(headed_table(columns, [prompt_row(one) for one in found.prompts], sys.stdout))
    for line in unused_lines(found, sorted(EVERYTHING)):
        say(f"note: {line}", quiet=options.quiet)
    if not found.prompts:
        say(_NONE_YET, quiet=options.quiet)
    return DONE if found.prompts else NOTHING


def _show(promptuary: Promptuary, prompt: NamedPrompt, options: argparse.Namespace) -> int:
    if options.accept:
        prompt = promptuary.prompts.accept(prompt)
    if options.arguments:
        print("".join(f"--{one.name}\n" for one in prompt.arguments), end="")
    elif options.json:
        print_json({**prompt_json(prompt), "file": prompt.file})
    else:
        print("\n".join(prompt_lines(prompt)))
        if not prompt.accepted:
            advice = f"promptuary prompt show {prompt.name} --accept lets it be used as it is now"
            say(f"it came with the workspace, and is not used before you have read it; {advice}", quiet=options.quiet)
        elif options.accept:
            say("it may be used until its file changes", quiet=options.quiet)
    return DONE


def _new(promptuary: Promptuary, name: str, options: argparse.Namespace) -> int:
    words = options.words[1:]
    text = standard_input().decode("utf-8", "replace") if words == ["-"] else " ".join(words)
    made = promptuary.prompts.new(name, f"{text.rstrip()}\n" if words else None, here=options.here)
    _print_written(made, options)
    begun = "" if words else f"it is an example: promptuary prompt edit {made.name} makes it yours"
    say(begun or f"promptuary ask -p {made.name} uses it", quiet=options.quiet)
    return DONE


def _edit(promptuary: Promptuary, prompt: NamedPrompt, options: argparse.Namespace) -> int:
    if not (is_terminal(sys.stdin) and is_terminal(sys.stdout)):
        raise PromptuaryError(f"prompt edit needs a terminal; or change the file yourself: {prompt.source}")
    if prompt.form != "promptuary":
        raise PromptuaryError(f"{prompt.source} is a file of another program; change it with your editor")
    try:
        with edit_copy(prompt.file.encode(), f"{prompt.name.replace(':', '-')}.md") as written:
            after = written.decode("utf-8", "replace")
            changed = after != prompt.file
            prompt = promptuary.prompts.rewrite(prompt, after) if changed else prompt
    except PromptuaryError as error:
        say_kept(error)
        raise
    if changed:
        _print_written(prompt, options)
    else:
        print(f"nothing has changed in {one_line(prompt.source)}")
    return DONE


def _print_written(prompt: NamedPrompt, options: argparse.Namespace) -> None:
    if options.json:
        print_json(prompt_json(prompt))
    else:
        print(f"wrote {one_line(prompt.source)}")
