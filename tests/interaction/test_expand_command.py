"""``promptuary expand``, as a person or a script runs it."""

import json
import os
import pty
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any, cast

import pytest

from promptuary.blocking import Promptuary
from promptuary.cli.command_table import COMMANDS
from promptuary.cli.common import given_settings
from promptuary.cli.flags import SETTING_FLAGS
from promptuary.cli.main import _parsed, main
from promptuary.config.settings import SETTINGS, SettingsOptions, load
from promptuary.testing.loopback import Loopback, answer
from promptuary.tokens.counting import Counter
from tests.conftest import Files, git
from tests.images import png
from tests.waiting import wait_until

PROMPTUARY = [sys.executable, "-m", "promptuary"]


@pytest.fixture
def project(files: Files, repository: Path) -> Path:
    files(
        {"src/app.py": "def main() -> None:\n    pass\n" * 3, "docs/style.md": "Be brief.\n", "logo.png": b"\x89PNG\0"}
    )
    git(repository, "add", ".")
    git(repository, "commit", "-qm", "Begin")
    files({"src/new.py": "x = 1\n"})
    return repository


def expand(project: Path, capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = main(["expand", "--workspace", str(project), *arguments])
    out, err = capsys.readouterr()
    return code, out, err


def as_json(project: Path, capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    answered: dict[str, Any] = json.loads(expand(project, capsys, "--json", *arguments)[1])
    return answered


def test_json_is_the_promised_object(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    answered = as_json(project, capsys, "See @file:src/app.py:1-2.")

    assert answered == {
        "text": "See @file:src/app.py:1-2.",
        "messages": [{"role": "user", "content": answered["messages"][0]["content"]}],
        "references": [
            {
                "raw": "@file:src/app.py:1-2",
                "kind": "file",
                "target": "src/app.py",
                "start": 4,
                "end": 24,
                "lines": [1, 2],
                "status": "included",
                "code": None,
                "reason": None,
                "detail": "full",
                "tokens": answered["references"][0]["tokens"],
                "whole_tokens": 0,
                "sha256": answered["references"][0]["sha256"],
            }
        ],
        "left_out": [],
        "slips": [],
        "tokens": {
            "injected": answered["tokens"]["injected"],
            "window": 128_000,
            "warn_at": 32_000,
            "limit": 64_000,
        },
        "warnings": [],
        "blocked": False,
    }
    assert answered["messages"][0]["content"].endswith("# Message\n\nSee @file:src/app.py:1-2.")
    assert re.fullmatch(r"[0-9a-f]{64}", answered["references"][0]["sha256"])


def test_a_search_in_a_folder_that_is_not_there_says_so_beside_the_prompt(
    project: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    vault = tmp_path / "vault"
    vault.mkdir()
    (vault / "zoo.md").write_text("The zebra sleeps.\n")
    main(["index", "--workspace", str(project), "--embedder", "none", str(vault)])
    vault.rename(tmp_path / "away")
    capsys.readouterr()

    answered = as_json(project, capsys, "--embedder", "none", "@search:zebra")
    _, out, err = expand(project, capsys, "--embedder", "none", "@search:zebra")

    (warning,) = answered["warnings"]
    assert warning.startswith(f"{vault} is missing")
    assert f"warning: {warning}\n" in err
    assert warning not in out


@pytest.mark.parametrize(
    ("text", "kind", "part"),
    [
        ("@file:src/app.py", "file", "def main()"),
        ("@file:src/app.py#L3-L4", "file", "lines 3-4 of 6"),
        ("@file:src/app.py#main", "file", "src/app.py#main"),
        ("@folder:src", "folder", "└── new.py"),
        ("@folder:src:contents", "folder", "x = 1"),
        ("@glob:src/*.py", "glob", "## src/new.py"),
        ("@diff", "diff", "+++ b/src/new.py"),
        ("@staged", "staged", "(no changes)"),
        ("@status", "status", "?? src/new.py"),
        ("@git:1", "git", "Begin"),
        ("@commit:HEAD", "commit", "Begin"),
        ("@git:HEAD..HEAD", "git", "(no changes)"),
        ("@symbol:main", "symbol", "def main()"),
        ("@src/app.py", "file", "def main()"),
        ("@src", "folder", "└── new.py"),
        ("#docs/style.md", "file", "Be brief."),
    ],
)
def test_every_kind_is_included(
    project: Path, capsys: pytest.CaptureFixture[str], text: str, kind: str, part: str
) -> None:
    answered = as_json(project, capsys, text)

    assert [(one["kind"], one["status"]) for one in answered["references"]] == [(kind, "included")]
    assert part in answered["messages"][0]["content"]
    assert 0 < answered["references"][0]["tokens"] <= answered["tokens"]["injected"]


def test_a_page_of_an_allowed_host_is_included(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with Loopback({"/a": answer("<p>Hello</p>")}) as server:
        answered = as_json(project, capsys, "--allow-host", server.host, f"@url:{server.url('/a')}")

    assert answered["references"][0]["status"] == "included"
    assert "Hello" in answered["messages"][0]["content"]


@pytest.mark.parametrize(
    ("text", "status", "code"),
    [
        ("@file:../x", "refused", "PATH_TRAVERSAL"),
        ("@file:/etc/passwd", "refused", "ABSOLUTE_PATH"),
        ("@file:.env", "refused", "SENSITIVE_PATH"),
        ("@file:logo.png", "refused", "DISALLOWED_EXTENSION"),
        ("@file:nothing.py", "missing", "NOT_FOUND"),
        ("@file:src", "refused", "NOT_A_FILE"),
        ("@folder:src/app.py", "refused", "NOT_A_FOLDER"),
        ("@file:src/app.py:9-1", "refused", "BAD_RANGE"),
        ("@file:src/app.py:99", "refused", "BAD_RANGE"),
        ("@file:src/app.py#nope", "missing", "NO_MATCH"),
        ("@glob:*.zig", "missing", "NO_MATCH"),
        ("@glob:!*.py", "refused", "BAD_PATTERN"),
        ("@symbol:Nope.nope", "missing", "NO_MATCH"),
        ("@git:0", "refused", "BAD_RANGE"),
        ("@git:--output=x", "refused", "BAD_REVISION"),
        ("@commit:deadbeef", "refused", "BAD_REVISION"),
        ("@url:http://127.0.0.1/", "refused", "BLOCKED_ADDRESS"),
        ("@url:file:///etc/passwd", "refused", "BAD_URL"),
        ("#docs/stile.md", "missing", "NOT_FOUND"),
    ],
)
def test_a_refusal_has_a_code_and_says_what_to_do_and_leaves_the_rest_working(
    project: Path, capsys: pytest.CaptureFixture[str], text: str, status: str, code: str
) -> None:
    answered = as_json(project, capsys, f"{text} and @file:docs/style.md")
    refused, included = answered["references"]

    assert (refused["status"], refused["code"]) == (status, code)
    assert len(refused["reason"]) > 15
    assert included["status"] == "included"
    assert "Be brief." in answered["messages"][0]["content"]


def test_the_table_shows_tokens_detail_share_and_the_total(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = expand(project, capsys, "Mind @file:docs/style.md and @file:.env")

    lines = err.splitlines()
    assert code == 1
    assert "Be brief." in out
    assert lines[0].split() == ["reference", "tokens", "detail", "window"]
    assert re.fullmatch(r"@file:docs/style.md +\d+  full +0\.0%", lines[1])
    assert re.match(r"@file:\.env +-  refused +-  SENSITIVE_PATH: ", lines[2])
    assert re.fullmatch(r"\[@ context: \d+ tokens injected\]", lines[-1])


def test_what_is_not_attached_is_told_to_the_model_too(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = expand(project, capsys, "Mind @file:gone.md")

    assert (
        out == "# Attached context\n\n## Not attached\n- @file:gone.md: NOT_FOUND\n\n# Message\n\nMind @file:gone.md\n"
    )


def test_quiet_prints_nothing_but_the_message(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = expand(project, capsys, "-q", "@file:docs/style.md")

    assert (code, err) == (0, "")


def test_the_same_source_twice_is_injected_once(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    answered = as_json(project, capsys, "@file:docs/style.md @file:./docs/style.md @glob:docs/* #docs/style.md")

    assert answered["messages"][0]["content"].count("Be brief.") == 1
    assert [one["tokens"] > 0 for one in answered["references"]] == [True, False, False, False]
    assert answered["references"][1]["reason"] == "already attached by @file:docs/style.md"


def test_a_literal_path_goes_before_a_range(files: Files, capsys: pytest.CaptureFixture[str]) -> None:
    project = files({"a.py:2-3": "the literal file\n", "a.py": "1\n2\n3\n"})

    answered = as_json(project, capsys, '@file:"a.py:2-3"')
    assert "the literal file" in answered["messages"][0]["content"]
    assert as_json(project, capsys, "@file:a.py:2-3")["references"][0]["lines"] is None


def test_context_above_a_quarter_of_the_window_is_warned_about(
    files: Files, capsys: pytest.CaptureFixture[str]
) -> None:
    project = files({"a.txt": "word " * 300})

    code, _, err = expand(project, capsys, "--window", "1000", "@file:a.txt")
    assert code == 0
    assert "warning: the attached context is" in err


@pytest.mark.parametrize("window", [100, 150, 300, 700, 2_000, 20_000])
def test_the_limit_holds_at_every_window(files: Files, capsys: pytest.CaptureFixture[str], window: int) -> None:
    contents = {f"m{n}.py": f"def f{n}():\n    return {n}\n" * 40 * n for n in range(6)}
    project = files({**contents, "one_line.js": "x=1;" * 9_000})

    answered = as_json(project, capsys, "--window", str(window), "@glob:*.py @file:one_line.js @folder:. @file:m5.py")
    assert answered["tokens"]["injected"] <= window // 2 or answered["blocked"]


def test_a_message_is_blocked_only_when_not_even_names_fit(files: Files, capsys: pytest.CaptureFixture[str]) -> None:
    project = files({f"file_{n}.txt": "words " * 500 for n in range(30)})
    text = " ".join(f"@file:file_{n}.txt" for n in range(30))

    code, _, err = expand(project, capsys, "--window", "400", text)
    assert code == 1
    assert "BUDGET_EXCEEDED" in err
    assert "blocked:" in err
    assert expand(project, capsys, "--window", "20000", text)[0] == 0


def test_a_model_name_gives_the_window(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert as_json(project, capsys, "--model", "openai/gpt-4", "hello")["tokens"]["window"] == 8_192


@pytest.mark.parametrize(
    "arguments",
    [
        ["--model", "nobody-knows-it", "x"],
        ["--window", "lots", "x"],
        ["--window", "-5", "x"],
        ["--window", "0", "x"],
        ["--window", "9" * 5_000, "x"],
        ["--set", "warn_share=30", "x"],
        ["--share", "nan", "x"],
        ["--share", "3", "x"],
        ["--set", "vocabulary=klingon", "x"],
        ["--set", "timeout=0", "x"],
        ["--set", "fetch_timeout=0", "x"],
        ["--set", "fetch_timeout=1e300", "x"],
        ["--set", "window", "x"],
        ["--set", "=3", "x"],
        ["--set", "exact=1", "x"],
        ["--set", "models=1", "x"],
        ["--workspace", "", "x"],
    ],
)
def test_a_wrong_flag_is_wrong_usage_with_one_sentence(
    project: Path, capsys: pytest.CaptureFixture[str], arguments: list[str]
) -> None:
    code, out, err = expand(project, capsys, *arguments)

    assert (code, out) == (2, "")
    assert err.startswith("promptuary: ")
    assert err.count("\n") == 1


def test_an_error_names_the_flag_and_what_was_probably_meant(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    told = "promptuary: --share must be above 0 and at most 1 (or 100%), not '30'; did you mean 30%?\n"

    assert expand(project, capsys, "--share", "30", "x")[2] == told
    told = told.replace("--share", "--set warn_share")
    assert expand(project, capsys, "--set", "warn_share=30", "x")[2] == told
    near = "promptuary: --set warn_shar is not a setting; did you mean warn_share?\n"
    assert expand(project, capsys, "--set", "warn_shar=30%", "x")[2] == near


TEXTS = {
    "model": "gpt-4",
    "vocabulary": "llama3",
    "watch_debounce": "0.5",
    "rerank_timeout": "7",
    "recall_mode": "legacy_blocking",
    "recall_max_selected": "7",
    "writeback_wait_policy": "soft_drain",
    "instructions_tag": "rules",
    "database": "postgresql://me@127.0.0.1:9/none",
    "index": "embedded",
    "notes": "files",
}
"""Values for settings that do not take every number."""


def test_every_setting_can_be_set_for_one_command(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, default in SETTINGS.items():
        value = TEXTS.get(name, "yes" if isinstance(default, bool) else "1" if "share" in name else "7777")
        assert main(["config", "-w", str(project), "--json", "-q", "--set", f"{name}={value}"]) == 0
        assert json.loads(capsys.readouterr().out)["settings"][name]["origin"] == "flag"


def test_a_setting_that_people_change_has_a_flag_of_its_own(project: Path) -> None:
    assert SETTING_FLAGS.keys() < set(SETTINGS)
    for name, (flag, arguments) in SETTING_FLAGS.items():
        given = [flag] if "metavar" not in arguments else [flag, TEXTS.get(name, "1" if "share" in name else "7777")]
        options = _parsed(["expand", *given, "x"])
        settings = cast("SettingsOptions", {name: getattr(options, name)})
        assert given_settings(options) == settings
        assert load(project, settings).origin(name) == "option"


def test_a_list_may_be_set_piece_by_piece_and_of_one_value_the_last_counts() -> None:
    options = _parsed(["expand", *("--set", "allow_hosts=a,b", "--set", "allow_hosts=c"), "x"])
    assert given_settings(options) == {"allow_hosts": "a,b,c"}
    options = _parsed(["expand", *("--set", "window=1k", "--set", "window=2k", "--set", "scoring_model=m"), "x"])
    assert given_settings(options) == {"window": "2k", "file_reference_scoring_model": "m"}
    assert given_settings(_parsed(["expand", "--set", "window=1k", "--window", "3k", "x"])) == {"window": "3k"}


def test_what_cannot_be_counted_exactly_is_noted_unless_quiet(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, _, err = expand(project, capsys, "--model", "claude-3", "x")
    assert code == 0
    assert err.startswith("note: token counts for claude-3 are approximate: ")
    assert (
        "note: token counts for foo are approximate: "
        in expand(project, capsys, "--model", "foo", "--window", "8k", "x")[2]
    )
    assert expand(project, capsys, "-q", "--model", "claude-3", "x")[2] == ""


@pytest.mark.parametrize("name", ["promptuary.toml", "pyproject.toml"])
def test_a_broken_configuration_of_the_workspace_can_still_be_asked_about(
    files: Files, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    code, out, err = expand(files({name: "window = ["}), capsys, f"What is wrong with @file:{name}?")

    assert code == 0
    assert "window = [" in out
    assert err.startswith(f"note: {name} is not valid TOML: ")


def test_a_workspace_that_is_no_folder_is_wrong_usage(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = expand(tmp_path / "nowhere", capsys, "x")

    assert code == 2
    assert "is not a folder" in err


def test_no_command_shows_the_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 2
    assert "@file:src/app.py" in capsys.readouterr().err


def test_the_help_shows_every_command_whatever_follows(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help", "search"]) == 0
    told = capsys.readouterr().out
    assert all(f"\n    {command.name} " in told for command in COMMANDS if not command.hidden)


def test_the_message_may_come_from_standard_input(project: Path) -> None:
    done = subprocess.run(
        [*PROMPTUARY, "expand", "-"],
        cwd=project,
        input="Mind @docs/style.md",
        text=True,
        capture_output=True,
        check=True,
    )

    assert done.stdout.endswith("# Message\n\nMind @docs/style.md\n")


@pytest.mark.parametrize("given", [[], ["-"], ["-q"], ["-q", "-"]])
def test_without_a_text_a_pipe_is_read(project: Path, given: list[str]) -> None:
    done = subprocess.run(
        [*PROMPTUARY, "expand", *given], cwd=project, input="hi", text=True, capture_output=True, check=True
    )

    assert done.stdout == "hi\n"


def test_without_a_text_a_terminal_is_not_waited_for(project: Path) -> None:
    leader, follower = pty.openpty()
    done = subprocess.run([*PROMPTUARY, "expand"], cwd=project, stdin=follower, capture_output=True, check=False)
    os.close(follower)
    os.close(leader)

    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr == b"promptuary: no text given; pass it as an argument or pipe it to stdin\n"


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["one", "--model", "gpt-4", "two", "three"], "one two three"),
        (["--model", "gpt-4", "one", "-q", "two"], "one two"),
        (["one", "--window", "8k", "--", "--json", "-", "two"], "one --json - two"),
        (["--", "-x", "--unknown"], "-x --unknown"),
        (["it", "costs", "-5", "-q", "-1.5", "- or more"], "it costs -5 -1.5 - or more"),
        (["one", "-q", "-", "two"], "one - two"),
    ],
)
def test_words_may_stand_around_flags(
    project: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], text: str
) -> None:
    assert as_json(project, capsys, *arguments)["text"] == text


@pytest.mark.parametrize("arguments", [["x", "--unknown", "y"], ["--unknown"], ["x", "-q", "-z"], ["--max", "3", "x"]])
def test_an_unknown_flag_is_wrong_usage(
    project: Path, capsys: pytest.CaptureFixture[str], arguments: list[str]
) -> None:
    code, out, err = expand(project, capsys, *arguments)

    assert (code, out) == (2, "")
    assert "unrecognized arguments: -" in err


@pytest.mark.parametrize(
    ("line", "code", "told"),
    [
        ("expand x >&-", 2, "standard output is closed"),
        ("config --json >&-", 2, "standard output is closed"),
        ("expand - <&-", 2, "standard input is closed"),
        ("expand <&-", 2, "standard input is closed"),
        ("expand x >/dev/full", 1, "the disk is full"),
        ("expand --json x >/dev/full", 1, "the disk is full"),
        ("complete @ >/dev/full", 1, "the disk is full"),
        ("expand - </proc/self/mem", 1, "error"),
        ("expand x 2>/dev/full", 1, ""),
        ("expand x 2>&-", 0, ""),
    ],
)
def test_a_stream_that_is_closed_or_full_is_told_in_one_sentence(
    project: Path, line: str, code: int, told: str
) -> None:
    done = subprocess.run(
        ["/bin/sh", "-c", f'"{sys.executable}" -m promptuary {line}'],
        cwd=project,
        text=True,
        capture_output=True,
        check=False,
    )

    assert done.returncode == code
    assert told in done.stderr
    assert done.stderr.count("\n") == (1 if told else 0)


def test_nothing_for_standard_error_goes_to_standard_output(project: Path) -> None:
    command = f'"{sys.executable}" -m promptuary expand "@file:docs/style.md" 2>&-'
    done = subprocess.run(["/bin/sh", "-c", command], cwd=project, text=True, capture_output=True, check=True)

    assert "tokens injected" not in done.stdout


def test_debug_shows_where_an_error_comes_from(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, _, err = expand(project, capsys, "--debug", "--window", "lots", "x")

    assert "Traceback" in err
    assert err.splitlines()[-1].startswith("promptuary: --window must be a whole number")


def test_the_workspace_is_found_from_a_folder_inside_it(project: Path) -> None:
    done = subprocess.run(
        [*PROMPTUARY, "expand", "@file:docs/style.md"], cwd=project / "src", text=True, capture_output=True, check=True
    )

    assert "Be brief." in done.stdout


def test_a_closed_pipe_ends_quietly(files: Files) -> None:
    project = files({"a.txt": "words and words\n" * 50_000})
    command = [*PROMPTUARY, "expand", "--window", "10M", "--share", "1", "@file:a.txt"]
    running = subprocess.Popen(command, cwd=project, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert running.stdout
    assert running.stderr
    running.stdout.read(10)
    running.stdout.close()
    errors = running.stderr.read().decode()
    running.stderr.close()

    assert "Traceback" not in errors
    assert "Broken" not in errors
    assert running.wait() == 0


def test_an_interrupt_ends_quietly(project: Path) -> None:
    with Loopback({"/slow": lambda: [30.0]}) as server:
        command = [*PROMPTUARY, "expand", "--allow-host", server.host, f"@url:{server.url('/slow')}"]
        running = subprocess.Popen(command, cwd=project, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        wait_until(lambda: server.requests or running.poll() is not None)
        running.send_signal(signal.SIGINT)
        out, errors = running.communicate(timeout=20)

    assert (running.returncode, out) == (130, b"")
    assert b"Traceback" not in errors


def test_no_control_sequence_of_a_file_name_or_message_reaches_a_terminal(files: Files) -> None:
    hostile = "a\x1b]52;c;ZXZpbA==\x07\x9b31m\u202e.txt"
    project = files({hostile: "x\n", "plain.txt": "\x1b[2J\x1b]0;title\x07 body \x9b1m \u202e\n"})
    written = _on_a_terminal([*PROMPTUARY, "expand", "@folder:. @file:plain.txt \x1b[31mred"], project)

    assert b"body" in written
    assert b"52;c;ZXZpbA==" in written
    assert not set(written) & {*range(9), *range(11, 13), *range(14, 32), 127}
    assert "\x9b".encode() not in written
    assert "\u202e".encode() not in written


def test_json_on_a_terminal_is_plain_ascii_and_in_a_pipe_is_not(files: Files) -> None:
    project = files({"a.txt": "x\n"})
    command = [*PROMPTUARY, "expand", "-q", "--json", "\x1b[31m \x9b1m \u202e grüße \x7f"]
    written = _on_a_terminal(command, project)

    assert json.loads(written)["text"] == "\x1b[31m \x9b1m \u202e grüße \x7f"
    assert set(written) <= {10, 13, *range(32, 127)}
    assert "grüße".encode() in subprocess.run(command, cwd=project, check=True, capture_output=True).stdout


@pytest.mark.parametrize("arguments", [["expand", "x", "--\x1b[31m"], ["expand", "--window"], ["\x1b]0;x\x07"]])
def test_an_error_about_the_arguments_cannot_carry_control_characters(
    capsys: pytest.CaptureFixture[str], arguments: list[str]
) -> None:
    assert main(arguments) == 2
    assert capsys.readouterr().err.replace("\n", "").isprintable()


def _on_a_terminal(command: list[str], folder: Path) -> bytes:
    leader, follower = pty.openpty()
    plain = {**os.environ, "NO_COLOR": "1"}  # our own colours are no content
    running = subprocess.Popen(
        command, cwd=folder, stdout=follower, stderr=follower, stdin=subprocess.DEVNULL, env=plain
    )
    os.close(follower)
    written = b""
    while True:
        try:
            written += (chunk := os.read(leader, 65_536))
        except OSError:  # the other side is gone
            break
        if not chunk:
            break
    os.close(leader)
    running.wait()
    return written


def test_text_in_attached_files_is_never_expanded(files: Files, capsys: pytest.CaptureFixture[str]) -> None:
    project = files({"a.md": "Read @file:b.md and #b.md\n", "b.md": "SECOND\n"})

    answered = as_json(project, capsys, "@file:a.md")
    assert "SECOND" not in answered["messages"][0]["content"]
    assert len(answered["references"]) == 1


def test_tracked_paths_become_links_to_their_blocks(files: Files, capsys: pytest.CaptureFixture[str]) -> None:
    project = files({"a-b.ts": "1\n", "a_b.ts": "2\n", "a/b.ts": "3\n"})

    answered = as_json(project, capsys, "#a-b.ts #a_b.ts #a/b.ts #a-b.ts")
    assert answered["text"] == "[#a-b.ts](#a-b-ts) [#a_b.ts](#a_b-ts) [#a/b.ts](#a-b-ts-2) [#a-b.ts](#a-b-ts)"
    for anchor in ("{#a-b-ts}", "{#a_b-ts}", "{#a-b-ts-2}"):
        assert answered["messages"][0]["content"].count(anchor) == 1


def test_an_image_is_sent_to_a_provider_and_named_in_text(
    files: Files, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(files({"shot.png": png(1024, 1024)}))
    assert main(["expand", "--model", "gpt-4o", "--for", "openai", "See @file:shot.png"]) == 0
    sent = json.loads(capsys.readouterr().out)
    assert [part["type"] for part in sent[0]["content"]] == ["image_url", "text"]

    assert main(["expand", "--model", "gpt-4o", "See @file:shot.png"]) == 0
    out, err = capsys.readouterr()
    assert "image; PNG, 1,024 × 1,024 pixels" in out
    assert "only the name of the image shot.png is included, because the format is text; use --for openai" in err

    assert main(["expand", "--model", "gpt-4o", "--json", "See @file:shot.png"]) == 0
    (image,) = json.loads(capsys.readouterr().out)["messages"][0]["images"]
    assert (image["tokens"], "data" in image) == (765, False)

    assert main(["expand", "--for", "openai", "See @file:shot.png"]) == 1
    assert "name one that takes images: --model" in capsys.readouterr().err


@pytest.mark.parametrize("thread", [[], ["--thread", "t"]])
def test_a_budget_fits_what_is_attached_into_so_many_tokens(
    files: Files, capsys: pytest.CaptureFixture[str], thread: list[str]
) -> None:
    project = files({"a.py": "".join(f"def function_{n}() -> int:\n    return {n}\n\n" for n in range(2_000))})

    for budget, least in (("300", 200), ("8k", 6_000)):
        _, out, _ = expand(project, capsys, *thread, "--budget", budget, "--for", "openai", "Look at @file:a.py")
        tokens = Counter().count(json.loads(out)[-1]["content"])
        assert least < tokens <= int(budget.replace("k", "000")) + 20


def test_a_budget_holds_in_the_library_for_messages_and_for_turns_and_may_exceed_half_of_the_window(
    files: Files,
) -> None:
    project = files({"a.txt": "many words\n" * 5_000})

    for budget in (500, 3_000):
        with Promptuary.open(project, window=4_000, reply_reserve=0, budget=budget) as promptuary:
            expansion = promptuary.expand("@file:a.txt")
            turn = promptuary.threads.prepare("@file:a.txt")
            assert 0.8 * budget < expansion.spend.injected <= budget
            assert turn.expansion.spend.injected == expansion.spend.injected
