"""The settings that make a client send its requests to this server: as text to read, and as entries to install. Pure.

With the client's own key, our token travels in a header of its own; with the server's key, our token is the client's
key. No text contains the token: it names the file or the environment variable that does. Only the settings of Claude
Code, which can read a header from nowhere else, contain it when they are installed; in a project, that file is one that
git ignores.
"""

import json
import re
import shlex
from pathlib import Path
from typing import Any, Final

from msgspec import Struct

from promptuary.base.errors import PromptuaryError
from promptuary.hooks.install.clients import SettingsFile, settings_folder
from promptuary.hooks.install.entries import SettingsEntry
from promptuary.hooks.install.hook_commands import NAME
from promptuary.server.guard import is_loopback

DEFAULT_PORT: Final = 8766
DEFAULT_URL: Final = f"http://127.0.0.1:{DEFAULT_PORT}"
CLIENTS: Final = ("claude-code", "codex", "opencode", "continue", "open-webui", "aider", "openai", "anthropic")
INSTALLABLE: Final = CLIENTS[:4]
"""Those whose settings files are known, and can be changed by a program."""
HEADER: Final = "X-Promptuary-Token"
VARIABLE: Final = "PROMPTUARY_TOKEN"
_ADDRESS: Final = re.compile(
    r"https?://(?P<host>[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(?::[0-9]+)?(?:/[A-Za-z0-9._~/-]*)?"
)
_MODELS: Final = {"openai": "gpt-5", "anthropic": "claude-haiku-4-5"}


class ClientSettings(Struct, frozen=True):
    """The settings of a client: the text, where it belongs, and what else a person has to know."""

    text: str
    file: str
    notes: tuple[str, ...] = ()


def workspace_name(folder: Path) -> str:
    """Return the name of a folder in the addresses of the server, unless the person chooses another."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", folder.name).strip("-.") or "workspace"


def is_remote(base_url: str) -> bool:
    """Return whether an address is another machine's, which must never learn the token of the server here."""
    found = _ADDRESS.fullmatch(_checked(base_url))
    return found is None or not is_loopback(found["host"].strip("[]").lower())


def settings_for(client: str, base_url: str, token_place: Path | None, own_key: bool) -> ClientSettings:  # noqa: FBT001
    """Return the settings that point ``client`` at ``base_url``, which has no ``/v1`` at its end.

    ``token_place`` is the file that contains our token; without it, it is in the variable ``PROMPTUARY_TOKEN``.
    ``own_key``: the client's own key is passed on, not the server's used. Raises ``PromptuaryError`` for an unknown
    client, or one that can send no header.
    """
    base = _checked(base_url)
    notes = () if token_place else (f"put the token into the environment of {client}: export {VARIABLE}=pt_…",)
    match client:
        case "claude-code":
            text, file, more = _claude_code(base, token_place, own_key=own_key)
        case "codex":
            text, file, more = _codex(base, token_place, own_key=own_key)
        case "opencode":
            values = _nested(_opencode(base, token_place, own_key=own_key))
            text, file = _json(values), "opencode.json in the project, or ~/.config/opencode/opencode.json"
            more = ("the models are called openai/… and anthropic/… there, as before",)
        case "continue":
            text, file = _continue(base, own_key=own_key), ".continue/models/promptuary.yaml in the project"
            more = (
                f"put {VARIABLE}=pt_… into the environment, or into ~/.continue/.env{_printed_by(token_place)}",
                "for the command line: cn --config .continue/models/promptuary.yaml",
            )
            notes = ()
        case "open-webui":
            text, file, more = _open_webui(base, token_place, own_key=own_key)
        case "aider":
            text, file, more = _aider(base, token_place, own_key=own_key)
        case "openai" | "anthropic":
            text, file, more = _library(client, base, token_place, own_key=own_key)
        case _:
            raise PromptuaryError(f"{client[:60]!r} is not a known client; there are: {', '.join(CLIENTS)}")
    return ClientSettings(text, file, (*notes, *more))


def settings_files_for(
    client: str, base_url: str, token_place: Path | None, token: str, *, own_key: bool, project: Path | None
) -> list[SettingsFile]:
    """Return the settings files of a client, with the entries that point it at ``base_url``.

    ``token_place`` is as for ``settings_for``; ``token`` is for a client that can read it from nowhere. ``project``:
    its own settings, in files that git is told to ignore; ``None``: the person's. Raises ``PromptuaryError`` for a
    client whose settings a program cannot change.
    """
    base = _checked(base_url)
    match client:
        case "claude-code":
            entries = [SettingsEntry("member", ("env", "ANTHROPIC_BASE_URL"), base)]
            if own_key:
                header = f"{HEADER}: {token}"
                entries.append(SettingsEntry("member", ("env", "ANTHROPIC_CUSTOM_HEADERS"), header))
            else:
                entries.append(SettingsEntry("member", ("apiKeyHelper",), _printing(token_place)))
            folder = project / ".claude" if project else settings_folder(client)
            path = folder / ("settings.local.json" if project else "settings.json")
        case "codex":  # which takes no address from a project's settings
            path = settings_folder(client) / f"{_provider(base)}.config.toml"
            entries, project = [SettingsEntry("text", (), _codex(base, token_place, own_key=own_key)[0])], None
        case "opencode":
            values = _opencode(base, token_place, own_key=own_key)
            entries = [SettingsEntry("member", place, value) for place, value in values.items()]
            path = (project / ".opencode" if project else settings_folder(client)) / "opencode.json"
        case "continue":
            folder = (project / ".continue" if project else settings_folder(client)) / "models"
            path = folder / f"{NAME}.yaml"
            entries = [SettingsEntry("text", (), _continue(base, own_key=own_key))]
        case _:
            known = ", ".join(INSTALLABLE)
            raise PromptuaryError(
                f"install can point {known} at the proxy; for {client[:60]}, see promptuary serve --print-config CLIENT"
            )
    # A file that is created for this is ignored as well; one that is the person's may belong into their repository.
    lines = (SettingsEntry("first line", (), "/.gitignore"), SettingsEntry("line", (), f"/{path.name}"))
    ignored = SettingsFile(path.with_name(".gitignore"), lines)
    return [*([ignored] if project else []), SettingsFile(path, tuple(entries))]


def start_notes(client: str, base_url: str, token_place: Path | None, *, own_key: bool) -> tuple[str, ...]:
    """Return what a person has to know to start a client whose settings were installed."""
    if client == "claude-code" and own_key:
        return ()  # its settings contain the token
    return settings_for(client, base_url, token_place, own_key).notes


def _claude_code(base: str, place: Path | None, *, own_key: bool) -> tuple[str, str, tuple[str, ...]]:
    if own_key:
        lines = (
            f"export ANTHROPIC_BASE_URL={shlex.quote(base)}",
            f'export ANTHROPIC_CUSTOM_HEADERS="{HEADER}: {_shell_value(place)}"',
        )
        return "\n".join(lines), "the shell that starts claude", ()
    values = {"env": {"ANTHROPIC_BASE_URL": base}, "apiKeyHelper": _printing(place)}
    return _json(values), ".claude/settings.local.json in the project, or ~/.claude/settings.json", ()


def _codex(base: str, place: Path | None, *, own_key: bool) -> tuple[str, str, tuple[str, ...]]:
    name = _provider(base)
    lines = [
        f'model_provider = "{name}"',
        "",
        f"[model_providers.{name}]",
        'name = "Promptuary"',
        f"base_url = {json.dumps(f'{base}/v1')}",
        'wire_api = "responses"',
    ]
    notes = [f"start codex with: codex --profile {name}"]
    if own_key:
        lines += ['env_key = "OPENAI_API_KEY"', f'env_http_headers = {{ "{HEADER}" = "{VARIABLE}" }}']
        notes.append("codex needs OPENAI_API_KEY in its environment: a login with ChatGPT is not passed on")
        if place:
            notes.append(f"and our token: export {VARIABLE}={_shell_value(place)}")
    else:
        command, *arguments = shlex.split(_printing(place))
        lines += ["", f"[model_providers.{name}.auth]", f"command = {json.dumps(command)}"]
        lines.append(f"args = {json.dumps(arguments, ensure_ascii=False)}")
    return "\n".join(lines) + "\n", f"~/.codex/{name}.config.toml", tuple(notes)


def _opencode(base: str, place: Path | None, *, own_key: bool) -> dict[tuple[str, ...], str]:
    """Return the values of opencode's settings by their places: only these of a provider change."""
    token = f"{{file:{place}}}" if place else f"{{env:{VARIABLE}}}"
    values: dict[tuple[str, ...], str] = {}
    for provider in ("openai", "anthropic"):
        at = ("provider", provider, "options")
        values[*at, "baseURL"] = f"{base}/v1"
        values[(*at, "headers", HEADER) if own_key else (*at, "apiKey")] = token
    return values


def _continue(base: str, *, own_key: bool) -> str:
    lines = ["name: Promptuary", "version: 0.0.1", "schema: v1", "models:"]
    for provider, model in _MODELS.items():
        key = f"{provider.upper()}_API_KEY" if own_key else VARIABLE
        lines += [
            f"  - name: {model} (Promptuary)",
            f"    provider: {provider}",
            f"    model: {model}",
            f"    apiBase: {json.dumps(f'{base}/v1/')}",
            f"    apiKey: ${{{{ secrets.{key} }}}}",
        ]
        if own_key:
            lines += ["    requestOptions:", "      headers:", f"        {HEADER}: ${{{{ secrets.{VARIABLE} }}}}"]
    return "\n".join(lines) + "\n"


def _open_webui(base: str, place: Path | None, *, own_key: bool) -> tuple[str, str, tuple[str, ...]]:
    if own_key:
        raise PromptuaryError("Open WebUI can send no header of ours: use the server's key (--server-key)")
    lines = (
        f"export OPENAI_API_BASE_URL={shlex.quote(f'{base}/v1')}",
        f'export OPENAI_API_KEY="{_shell_value(place)}"',
        "export ENABLE_FORWARD_USER_INFO_HEADERS=true",
    )
    notes = (
        "the last line lets Open WebUI say which chat a request belongs to",
        "in a container, 127.0.0.1 is the container: start promptuary serve on an address that it can reach",
        "Settings, Connections overrides the environment once it was saved there",
    )
    return "\n".join(lines), "the environment of Open WebUI", notes


def _aider(base: str, place: Path | None, *, own_key: bool) -> tuple[str, str, tuple[str, ...]]:
    bases = (f"export OPENAI_API_BASE={shlex.quote(f'{base}/v1')}", f"export ANTHROPIC_API_BASE={shlex.quote(base)}")
    if not own_key:
        key = _shell_value(place)
        keys = (f'export OPENAI_API_KEY="{key}"', f'export ANTHROPIC_API_KEY="{key}"')
        return "\n".join((*bases, *keys)), "the shell that starts aider", ()
    # The file may have other entries, and an end without a line break; nobody else may read it once it has the token.
    lines = (
        *bases,
        "touch ~/.aider.model.settings.yml && chmod 600 ~/.aider.model.settings.yml",
        "cat >> ~/.aider.model.settings.yml <<END",
        "",
        "- name: aider/extra_params",
        "  extra_params:",
        "    extra_headers:",
        f'      {HEADER}: "{_shell_value(place)}"',
        "END",
    )
    notes = (
        "aider reads a header only from that file, which then contains the token: keep it out of repositories",
        "the lines are added to it: if it has an entry aider/extra_params already, write the header there instead",
    )
    return "\n".join(lines), "the shell that starts aider", notes


def _library(client: str, base: str, place: Path | None, *, own_key: bool) -> tuple[str, str, tuple[str, ...]]:
    name, address = ("OpenAI", f"{base}/v1") if client == "openai" else ("Anthropic", base)
    token = f"Path({str(place)!r}).read_text().strip()" if place else f'os.environ["{VARIABLE}"]'
    given = f'default_headers={{"{HEADER}": token}}' if own_key else "api_key=token"
    lines = (
        "from pathlib import Path" if place else "import os",
        "",
        f"from {client} import {name}",
        "",
        f"token = {token}",
        f"client = {name}(base_url={json.dumps(address)}, {given})",
    )
    return "\n".join(lines), "your program", ()


def _printing(place: Path | None) -> str:
    """Return the command that prints our token."""
    return f"cat {shlex.quote(str(place))}" if place else f"printenv {VARIABLE}"


def _printed_by(place: Path | None) -> str:
    return f": {_printing(place)} prints it" if place else ""


def _shell_value(place: Path | None) -> str:
    return f"$({_printing(place)})" if place else f"${VARIABLE}"


def _provider(base: str) -> str:
    """Return the name of the server among the providers of Codex: one for each workspace."""
    named = re.search(r"/w/([A-Za-z0-9._-]+)$", base)
    return f"promptuary-{re.sub('[^A-Za-z0-9_-]', '-', named[1])}" if named else "promptuary"


def _nested(values: dict[tuple[str, ...], str]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for place, value in values.items():
        at = found
        for name in place[:-1]:
            at = at.setdefault(name, {})
        at[place[-1]] = value
    return found


def _json(values: Any) -> str:
    return json.dumps(values, indent=2, ensure_ascii=False)


def _checked(base_url: str) -> str:
    """Return an address without a slash at its end. It must be one that settings files and shells take as it is."""
    if not _ADDRESS.fullmatch(base_url):
        raise PromptuaryError(f"{base_url[:200]!r} is not an address such as {DEFAULT_URL}")
    base = base_url.rstrip("/")
    if base.endswith("/v1"):
        raise PromptuaryError("give the address without /v1: each client adds its own path")
    return base
