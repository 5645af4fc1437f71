"""The commands, their arguments and their help. Every start of the program imports this, so it imports little."""

import argparse
from collections.abc import Iterator
from typing import Final, NoReturn

from promptuary._version import __version__
from promptuary.cli.arguments import (
    add_answer_settings,
    add_answering,
    add_asked_thread,
    add_backup,
    add_chat,
    add_context_action,
    add_copy,
    add_filters,
    add_fix,
    add_form,
    add_gateways,
    add_hook,
    add_index_action,
    add_index_settings,
    add_install,
    add_max,
    add_mcp,
    add_model_action,
    add_new_turn,
    add_once,
    add_purge,
    add_reply,
    add_restore,
    add_search_settings,
    add_settings,
    add_shell,
    add_thread,
    add_thread_action,
    add_watch_settings,
)
from promptuary.cli.experiences.actions import add_experience_actions
from promptuary.cli.memory.actions import add_memory_actions, add_remember
from promptuary.cli.parsing import (
    Command,
    Help,
    add_common,
    add_common_of_talkers,
    add_parser,
    add_text,
    did_you_mean,
)
from promptuary.cli.sessions.actions import add_session_actions
from promptuary.core.text import one_line

_DESCRIPTION = """\
Promptuary builds prompts. Write a message with references in it: Promptuary fetches
what they name, fits it into the model's context window, and reports what went in, what
was shortened or left out, and why.

references:
  @file:src/app.py  @file:src/app.py:10-50  @file:src/app.py#main  @folder:src
  @glob:src/**/*.py  @diff  @staged  @status  @git:5  @git:main..HEAD
  @commit:abc123  @symbol:Class.method  @url:https://...  @clipboard
  #docs/style.md  [[a note]]
  @search:"how do we deploy"  @memory:"deploy"  @remember:"we deploy on Mondays"
"""
_EPILOG = """\
examples:
  promptuary expand 'Review @diff against @docs/style.md' | your-model
  promptuary index && promptuary search 'how do we deploy'

promptuary COMMAND --help shows the arguments and examples of a command.
"""


class _Parser(argparse.ArgumentParser):
    """A parser whose error messages are printable, whatever was typed."""

    def error(self, message: str) -> NoReturn:
        super().error(one_line(message))

    def _check_value(self, action: argparse.Action, value: object) -> None:
        """Refuse what is no choice, and name the one that is spelled most like it."""
        if action.choices is not None and value not in action.choices:
            choices = [str(one) for one in action.choices]
            listed = f"choose from {', '.join(choices)}"
            raise argparse.ArgumentError(
                action, f"invalid choice: {value!r}{did_you_mean(str(value), choices)} ({listed})"
            )


COMMANDS: Final = (
    Command(
        "expand",
        "[options] [TEXT ...]",
        "print a message with everything that it refers to",
        "Print the message with everything that it refers to, as it would be sent; a table of tokens goes to stderr. "
        "With --thread, print the whole prompt of a turn: instructions, tracked files, recalled passages and history, "
        "too. Exit code 1 if a reference could not be included or not everything fits.",
        (
            "promptuary expand 'Review @file:src/app.py:10-50 against @diff'",
            "promptuary expand --thread review --for anthropic 'Go on with #src/app.py'",
            "git log -1 | promptuary expand --json -",
            "promptuary expand --copy 'What does this mean? @clipboard'",
        ),
        (add_text, add_new_turn, add_form, add_copy, add_common, add_settings),
    ),
    Command(
        "ask",
        "[options] [TEXT ...]",
        "ask a model, and print its answer as it arrives",
        "Send the message with all that it refers to, and print the answer as it arrives; calls of tools and a line of "
        "tokens go to stderr. What is piped in goes behind it; nothing in that is a reference. The model may read and "
        "search files that you may attach, and with your consent write notes. Without a model, print what would be "
        "sent. Exit code 1 if the answer, or what was sent, is not complete; 2: failed.",
        (
            "promptuary ask --model gpt-5-mini 'What does @file:src/app.py do?'",
            "git diff | promptuary ask 'Write a commit message for this.'",
            "promptuary ask --thread review 'Is #src/app.py better now?'",
        ),
        (add_text, add_asked_thread, add_answering, add_common, add_answer_settings),
        "asking",
    ),
    Command(
        "chat",
        "[options]",
        "talk to a model in the terminal",
        "Type a message, with @ for what goes along with it and # for what stays in view; a menu completes both, and a "
        "meter shows what they cost before you send. The answer appears as it arrives; Ctrl-C stops it. /why shows "
        "what a turn was made of, /help all commands and keys. Threads go on where they ended. Without a model, the "
        "chat shows what would be sent.",
        ("promptuary chat --model gpt-5-mini", "promptuary chat --thread review"),
        (add_chat, add_answering, add_common_of_talkers, add_answer_settings),
        "threads",
    ),
    Command(
        "reply",
        "[options] [TEXT ...]",
        "record what the model answered to the last turn of a thread",
        "Record the answer to the turn that expand --thread prepared last: the next turn of the thread remembers both. "
        "Prints what came of it: notes that are proposed, and experiences. With --response, the text is JSON as the "
        "API of OpenAI or Anthropic returned it, with its tool calls. Exit code 1 if no turn waits.",
        (
            "promptuary reply --thread review 'It looks fine.'",
            "promptuary expand -t review 'Why?' | your-model | promptuary reply -t review",
            "promptuary reply --thread review --response - < response.json",
        ),
        (add_text, add_thread, add_reply, add_common),
        "threads",
    ),
    Command(
        "abandon",
        "[options]",
        "end the last turn of a thread without an answer",
        "End the turn that expand --thread prepared last: nothing of it enters the history, and the ledger keeps it. "
        "Exit code 1 if no turn waits.",
        ("promptuary abandon --thread review",),
        (add_thread, add_common),
        "threads",
    ),
    Command(
        "complete",
        "[options] [TEXT ...]",
        "print what the @ and # menus offer at the end of a text",
        "Print one menu item per line: what to insert, its kind and its size. Exit code 1 if there is none.",
        ("promptuary complete 'look at @file:app'", "promptuary complete --json 'since @git:'"),
        (add_text, add_common, add_max, add_settings),
        "completing",
    ),
    Command(
        "context",
        "ACTION [options] [WORD ...]",
        "manage the files and references that are attached to a thread",
        "add PATH tracks a file: every turn sees its current content. add @diff, or another reference, attaches it to "
        "the next message. drop, pin and unpin take the same words; list and tokens print what is attached; find WORDS "
        "finds files; clear removes everything.",
        (
            "promptuary context add docs/style.md --thread review",
            "promptuary context add @diff --thread review",
            "promptuary context list --thread review",
        ),
        (add_context_action, add_thread, add_common, add_settings),
        "threads",
    ),
    Command(
        "thread",
        "ACTION [TURN] [options]",
        "show threads, their messages, and what went into each turn",
        "list prints the threads, history what was said in one, show what went into a turn and why, replay the exact "
        "prompt of a turn and which of its sources have changed since. replay --window prepares the turn anew and "
        "prints what differs. rename OLD NEW gives a thread another name; export [FILE] writes one as JSON (or "
        "--format md), import FILE makes a new one of that; rm removes one.",
        (
            "promptuary thread show 3 --thread review",
            "promptuary thread export --thread review review.json",
        ),
        (add_thread_action, add_thread, add_common, add_settings),
        "threads",
    ),
    Command(
        "session",
        "ACTION [options] ...",
        "say what a conversation may see, and see what answers were based on",
        "A session is a name over a thread: which files, notes and experiences its turns may see, pinned at their "
        "revisions, and nothing else. audit SOURCE prints which answers a file, a note, a commit or a page influenced, "
        "in sessions and in all other threads. promptuary session ACTION --help tells more.",
        (
            "promptuary session create release --root src --root docs",
            "promptuary session show release",
            "promptuary session audit src/app.py",
        ),
        (add_common, add_session_actions),
        "sessions",
    ),
    Command(
        "index",
        "[options] [FOLDER ...]",
        "index folders of notes and code for search",
        "Index folders, or update the index: first the words, which is fast, then the vectors for search by meaning. "
        "Ctrl-C loses nothing: the next run continues. Files that the workspace's rules exclude (secrets, binaries, "
        "ignored files) are left out. Exit code 1 if not everything could be indexed.",
        (
            "promptuary index",
            "promptuary index ~/notes --label notes",
            "promptuary index --list",
        ),
        (add_index_action, add_common, add_index_settings),
        "search",
    ),
    Command(
        "search",
        "[options] [TEXT ...]",
        "search the indexed files, by words and by meaning",
        "Print the best passages with their files and lines. Files that changed are indexed again first. Quote a "
        "phrase to find its words together; end a word with * to find what begins with it. Exit code 1: nothing found; "
        "2: failed.",
        (
            "promptuary search 'how do we deploy'",
            "promptuary search --kind markdown --since 2w '\"page cache\" micro*'",
        ),
        (add_text, add_filters, add_common, add_search_settings),
        "search",
    ),
    Command(
        "watch",
        "[options]",
        "keep the index up to date until Ctrl-C",
        "Watch the indexed folders (the workspace, if there are none), index what changes, and embed in between. "
        "Prints a line for each step; with --json, a JSON object per line.",
        ("promptuary watch", "promptuary watch --once"),
        (add_once, add_common, add_watch_settings),
        "search",
    ),
    Command(
        "model",
        "ACTION [NAME] [options]",
        "fetch models for search by meaning, and show which there are",
        "list prints the models that have a name, add fetches one (or the repository OWNER/NAME) into your data "
        "folder, show compares its files with their hashes, remove deletes them. The first fetch pins the revision and "
        "the hash of every file; add NAME@REVISION pins another. Ctrl-C loses nothing: the next add continues. Exit "
        "code 1 if show finds a file that is missing or changed, or remove nothing to remove.",
        (
            "promptuary model list",
            "promptuary model add bge-small-en-v1.5",
            "promptuary model show bge-small-en-v1.5",
        ),
        (add_model_action, add_common),
        "search",
    ),
    Command(
        "memory",
        "ACTION [options] ...",
        "write, find, change and forget notes that last",
        "Durable memory: notes as Markdown files that you and your agents write, and that turns recall. A note is "
        "named by its id, the first four or more characters of its id, or its path. promptuary memory ACTION --help "
        "tells more.",
        (
            "promptuary memory write --kind project 'We deploy on Fridays, never before noon.'",
            "promptuary memory search 'when do we deploy?'",
            "promptuary memory history 4f1c",
        ),
        (add_common, add_memory_actions),
        "memory",
    ),
    Command(
        "remember",
        "[options] [TEXT ...]",
        "write a note in one go",
        "Write a note: about you, how to work, or what was decided, where the text says so plainly, else a reference. "
        "It is private unless you share it. Prints where the note is and how to undo it.",
        ("promptuary remember 'always use tabs'", "promptuary remember --shared 'We decided to use Postgres.'"),
        (add_text, add_remember, add_common),
        "memory",
    ),
    Command(
        "experience",
        "ACTION [options] ...",
        "store, find, judge and forget what worked before and what went wrong",
        "Experiences: what was wanted, what was done about it and how it ended. Turns with tools record them, and you "
        "can; turns are shown the ones that are like what is wanted. One that is not used weakens. An experience is "
        "named by its id, or how its id begins. promptuary experience ACTION --help tells more.",
        (
            "promptuary experience find 'how do I build the docs?'",
            "promptuary experience list --plot",
            "promptuary experience feedback helped 4f1c",
        ),
        (add_common, add_experience_actions),
        "experiences",
    ),
    Command(
        "mcp",
        "[options]",
        "serve clients of the Model Context Protocol: Claude Code, Codex, Cursor, Zed …",
        "Give an MCP client references, search, memory and experiences as tools, resources and prompts. A client "
        "starts it and talks to it over standard input and output; with --http it listens on 127.0.0.1 and wants a "
        "token, which is made on the first start and kept for you alone. A client may use this workspace and its own "
        "roots in it, and nothing else unless you add it with --root.",
        (
            "promptuary install claude-code",
            "promptuary mcp --http 8765 --root ~/notes",
        ),
        (add_mcp, add_common_of_talkers, add_settings),
        "agents",
    ),
    Command(
        "gateway",
        "[check] [NAME ...]",
        "answer on Telegram, Discord and Slack, as [gateways.NAME] of your configuration says",
        "Run one or several gateways until Ctrl-C. Each chat sees the workspace that is configured for it, or none, "
        "and only people who are allowed get an answer. What arrived and is not answered when it stops is answered at "
        "the next start. gateway check NAME tries the token, and prints what the bot may do. docs/gateways.md has the "
        "steps for each platform.",
        ("promptuary gateway check telegram", "promptuary gateway telegram slack"),
        (add_gateways, add_common),
        "agents",
    ),
    Command(
        "hook",
        "AGENT EVENT",
        "answer a hook of a coding agent",
        "Read what an agent tells about an event from standard input, and print what it is answered: at a prompt and "
        "at the start of a session the context that helps, at the end of a turn nothing, and what was learnt is kept. "
        "The exit code is always 0, so that an agent is never blocked. promptuary install writes hooks into settings.",
        ('echo \'{"prompt": "Look at @diff"}\' | promptuary hook claude-code UserPromptSubmit',),
        (add_hook, add_common),
        "agents",
    ),
    Command(
        "install",
        "AGENT [options]",
        "write the MCP server and the hooks into the settings of an agent",
        "Print the change, ask, and write it; all else in these files stays. An entry of that name that install "
        "did not write is replaced only with --force, and --undo puts it back. The exit code is 1 if you did not "
        "say yes or --undo left something, 2 if nothing can be written.",
        ("promptuary install claude-code", "promptuary install codex --dry-run", "promptuary install zed --undo"),
        (add_install, add_common),
        "agents",
    ),
    Command(
        "backup",
        "FILE [options]",
        "write all that is kept to one file",
        "Write threads, notes and configuration to FILE, a zip archive for you alone: those of this workspace and your "
        "own, or with --everywhere of every workspace that you have used. Others may write meanwhile. What can be made "
        "again is not in it: indexes, caches, models.",
        ("promptuary backup ~/promptuary.zip", "promptuary backup --everywhere /mnt/disk/all.zip"),
        (add_backup, add_common),
        "keeping",
    ),
    Command(
        "restore",
        "FILE [options]",
        "bring back what a backup has",
        "Check a backup as a whole, print what it would bring and where to, and bring it. If something else is there "
        "already, nothing is done, unless --force says to replace it. Restore only backups of your own: what they hold "
        "reaches models as your words. Exit code 1 if nothing was done.",
        ("promptuary restore ~/promptuary.zip --dry-run", "promptuary restore ~/promptuary.zip"),
        (add_restore, add_common),
        "keeping",
    ),
    Command(
        "purge",
        "[options]",
        "remove all that is kept",
        "Print what is kept for this workspace (or, with --everywhere, for every workspace and for you) and how large "
        "it is, ask, and remove it: threads, notes, indexes, caches. Your configuration stays, and models unless you "
        "add --models. Exit code 1 if nothing was removed.",
        ("promptuary purge --dry-run", "promptuary purge --everywhere --yes"),
        (add_purge, add_common),
        "keeping",
    ),
    Command(
        "adopt",
        "[options]",
        "take over the threads of a folder that was moved, or after your home has changed",
        "Threads are stored in .promptuary/state.db for you, in this folder. A database that git tracks, that somebody "
        "else made, or that was made in another folder is not used before you adopt it. Adopt only what is yours: what "
        "it holds reaches models as your own words.",
        ("promptuary adopt",),
        (add_common,),
        "threads",
    ),
    Command(
        "doctor",
        "[--fix] [options]",
        "compare the database and the notes with every promise about them",
        "Look for notes that nobody owns, files that name another owner, ids that are there twice, broken links, files "
        "that others may read, private notes in git, lists and an index that are out of date, a damaged database, and "
        "turns that could not be learnt from. With --fix, repair what can be repaired without losing anything. Exit "
        "code 1 if something is left to do.",
        ("promptuary doctor", "promptuary doctor --fix"),
        (add_fix, add_common),
        "keeping",
    ),
    Command(
        "completion",
        "SHELL",
        "print a script that completes commands, flags and references in a shell",
        "Print a script for bash, zsh or fish, with which the tab key completes commands, actions, flags, names of "
        "threads and references, in quotes or not: promptuary expand @file:sr<tab>. A # must be quoted.",
        (
            'eval "$(promptuary completion bash)"     # in ~/.bashrc; zsh alike, in ~/.zshrc',
            "promptuary completion fish > ~/.config/fish/completions/promptuary.fish",
        ),
        (add_shell, add_common),
        "completing",
    ),
    Command(
        "config",
        "[options]",
        "print the settings in effect, and where each comes from",
        "Print every setting with its value and its origin: a flag, the environment, a file, the model or the default.",
        ("promptuary config", "promptuary config --model gpt-4o"),
        (add_common, add_settings),
    ),
)


def flags_of(parser: argparse.ArgumentParser) -> Iterator[str]:
    """Yield every flag of a parser and of the parsers below it."""
    for action in parser._actions:  # noqa: SLF001  (argparse has no other way to ask)
        yield from action.option_strings
        if isinstance(action, argparse._SubParsersAction):  # noqa: SLF001
            for below in action.choices.values():
                yield from flags_of(below)


def overview() -> str:
    """Return the commands with a line each: what there is to see for who types no command."""
    longest = max(len(command.name) for command in COMMANDS)
    lines = (f"  {command.name:{longest}}  {command.help}" for command in COMMANDS)
    return "\n".join(
        [
            "usage: promptuary COMMAND [options] ...",
            "",
            *lines,
            "",
            "promptuary expand 'Review @file:src/app.py against @diff' prints a message with what it refers to.",
            "promptuary help COMMAND shows the arguments and examples of a command.",
        ]
    )


def make_parser(
    asked: str | None = None, *, words_only: bool = False, every_flag: bool = True
) -> argparse.ArgumentParser:
    """Return the parser of the command that is ``asked`` for; if it is unknown, of all commands.

    ``words_only`` says that no long flag is among the arguments, so that those of settings need not be made. Unless
    ``every_flag`` is wanted, the help shows no flag that is seldom needed.
    """
    parser = _Parser(prog="promptuary", description=_DESCRIPTION, epilog=_EPILOG, formatter_class=Help)
    parser.add_argument("--version", action="version", version=f"promptuary {__version__}")
    # With prog given, argparse need not format a usage line to find it.
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", title="commands", prog="promptuary")
    known = [command for command in COMMANDS if command.name == asked]
    for command in known or (COMMANDS if asked != "--version" else ()):
        added = add_parser(commands, command, "promptuary", words_only=words_only, every_flag=every_flag)
        added.set_defaults(module=command.module)
    return parser
