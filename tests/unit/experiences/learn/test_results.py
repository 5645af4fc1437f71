"""Whether a tool failed: what was said first, then the fields of an answer, then forms, and words last."""

import json

import pytest

from promptuary.base.messages import Item
from promptuary.experiences.learn.results import MAX_PROBLEM, error_name, result_of

TRACEBACK = """\
Traceback (most recent call last):
  File "/srv/app/run.py", line 3, in <module>
    import numpy
ModuleNotFoundError: No module named 'numpy'
"""
CARETS = """\
collected 3 items
Traceback (most recent call last):
  File "a.py", line 1, in <module>
    1 / 0
    ~~^~~
ZeroDivisionError: division by zero"""
NODE = """\
/app/index.js:3
throw new TypeError("x is not a function")
TypeError: x is not a function
    at Object.<anonymous> (/app/index.js:3:7)
"""

FAILED = [
    ('{"error": "no such table: users"}', "no such table: users"),
    ('{"error": {"message": "quota exceeded", "code": 429}}', "quota exceeded"),
    ('{"errors": [{"message": "bad field"}], "data": null}', "bad field"),
    ('{"ok": false, "reason": "locked"}', "locked"),
    ('{"success": false}', ""),
    ('{"exit_code": 2, "stdout": "", "stderr": "make: *** [all] Fehler 2\\n"}', "make: *** [all] Fehler 2"),
    ('{"exitCode": 127, "stderr": "bash: pytst: Kommando nicht gefunden."}', "bash: pytst: Kommando nicht gefunden."),
    ('{"returncode": -9}', "returncode -9"),
    ('{"status": 404}', "status 404"),
    ('{"status": "failed", "detail": "超时"}', "超时"),
    ('{"isError": true, "message": "nope"}', "nope"),
    (TRACEBACK, "ModuleNotFoundError: No module named 'numpy'"),
    (CARETS, "ZeroDivisionError: division by zero"),
    (NODE, "TypeError: x is not a function"),
    ("FileNotFoundError: [Errno 2] No such file", "FileNotFoundError: [Errno 2] No such file"),
    ("java.io.IOException: closed", "java.io.IOException: closed"),
    ("error[E0308]: mismatched types", "error[E0308]: mismatched types"),
    ("error TS2304: Cannot find name 'x'.", "error TS2304: Cannot find name 'x'."),
    ("thread 'main' panicked at src/main.rs:2:5:\nboom", "thread 'main' panicked at src/main.rs:2:5:"),
    ("panic: runtime error: index out of range\n\ngoroutine 1 [running]:", "panic: runtime error: index out of range"),
    ("ENOENT: no such file or directory, open 'a'", "ENOENT: no such file or directory, open 'a'"),
    ("npm: EACCES: /usr", "npm: EACCES: /usr"),
    ("HTTP/1.1 503 Service Unavailable\n\n", "HTTP/1.1 503 Service Unavailable"),
    ("<tool_use_error>String to replace not found</tool_use_error>", "String to replace not found"),
    ("2 passed, 1 failed\nExit code: 1", "2 passed, 1 failed"),
    ("nichts zu tun\n[exit code 3]", "nichts zu tun"),
    ("Process exited with code 1\nmissing", "missing"),
    ("fatal: not a git repository", "fatal: not a git repository"),
    ("Fehler: Datei fehlt", "Fehler: Datei fehlt"),
    ("错误：找不到文件", "错误：找不到文件"),
]
WORKED = [
    "",
    "all good",
    '{"ok": true}',
    '{"error": null, "data": [1]}',
    '{"errors": [], "result": "x"}',
    '{"exit_code": 0, "stderr": "warning: old"}',
    '{"status": 200, "body": "error"}',
    '{"status": "completed"}',
    '{"message": "the error was fixed"}',
    f"what the log says:\n\n{TRACEBACK}\nand then it went on\nfor long\nuntil the end",
    "Found 3 errors in the log of yesterday",
    "def fail():\n    raise ValueError('x')\n    exit 1",
    "#!/bin/sh\nset -e\nexit 1",
    "Tests passed.\nExit code: 0",
    "failed: 0, passed: 12",
    "The error handling in this file is described below.",
    "EXAMPLE: how to call it",
    "DeprecationWarning: old",
    '["error"]',
]


def result(text: str, *, is_error: bool | None = None) -> Item:
    return Item("r", "tool", text, tool_call_id="c", is_error=is_error)


@pytest.mark.parametrize(("text", "problem"), FAILED)
def test_a_failure_is_seen_by_its_form_and_told_in_one_line(text: str, problem: str) -> None:
    found = result_of(result(text))

    assert found.failed
    assert found.problem == problem


@pytest.mark.parametrize("text", WORKED)
def test_what_only_speaks_of_errors_is_no_failure(text: str) -> None:
    found = result_of(result(text))

    assert not found.failed
    assert found.problem == ""


@pytest.mark.parametrize(("text", "_"), FAILED)
def test_who_called_the_tool_knows_best_that_it_worked(text: str, _: str) -> None:
    assert not result_of(result(text, is_error=False)).failed


@pytest.mark.parametrize("text", WORKED)
def test_who_called_the_tool_knows_best_that_it_failed(text: str) -> None:
    assert result_of(result(text, is_error=True)).failed


@pytest.mark.parametrize(
    "text",
    [
        '{"a":' * 20_000,
        "[" * 50_000,
        '{"exit_code": ' + "9" * 20_000 + "}",
        json.dumps({"error": {"message": {"message": ["x"]}}}),
        json.dumps({"error": [[[]]]}),
        "Traceback (most recent call last):",
        "\x00\ud800Error:",
        "error: " + "x" * 1_000_000,
        "exit code: 99999999999999999999",
        '{"Error": true, "status": {}, "exit_code": "1"}',
    ],
    ids=range(10),
)
def test_hostile_results_are_read_and_the_problem_is_short(text: str) -> None:
    assert len(result_of(result(text, is_error=True)).problem) <= MAX_PROBLEM
    result_of(result(text))


def test_the_name_of_an_error_is_found_in_its_line() -> None:
    assert error_name("ModuleNotFoundError: No module named 'numpy'") == "ModuleNotFoundError"
    assert error_name("java.io.IOException: closed") == "IOException"
    assert error_name("no such file") == ""
