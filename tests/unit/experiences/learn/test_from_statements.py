"""What a person says outright that they learnt, in several languages."""

import pytest

from promptuary.experiences.learn.from_statements import CANDIDATE_WEIGHT, lessons_from_statements

FIXES = [
    ("The fix was to run uv sync first.", "run uv sync first", ""),
    ("The problem was a stale lock file. The fix was to delete it.", "delete it", "a stale lock file"),
    ("Das Problem war die alte Sperrdatei. Die Lösung war, sie zu löschen.", "sie zu löschen", "die alte Sperrdatei"),
    (
        "Le problème était le fichier de verrou. La solution était de le supprimer.",
        "le supprimer",
        "le fichier de verrou",
    ),
    ("El problema era el archivo de bloqueo. La solución fue borrarlo.", "borrarlo", "el archivo de bloqueo"),
    ("原因是锁文件太旧。解决办法是删除它。", "删除它", "锁文件太旧"),
    ("The problem was a missing comma, and the fix was adding it.", "adding it", "a missing comma"),
    ("原因是端口被占用，解决办法是换端口。", "换端口", "端口被占用"),
    ("I fixed it by pinning numpy below 2.", "pinning numpy below 2", ""),
    ("What helped was to clear the cache.", "clear the cache", ""),
]
NOTHING = [
    "What was the fix?",
    "The fix is in the next release, isn't it?",
    "> The fix was to delete the lock file.",
    "```\nThe fix was to delete the lock file.\n```",
    'He wrote "The fix was to delete the lock file and all."',
    "The fix was ok.",
    "Remember that I moved to Berlin last year.",
    "My name is Ada.",
    "Please run the tests.",
    "x" * 3_000,
    "",
]


@pytest.mark.parametrize(("message", "fix", "cause"), FIXES)
def test_a_fix_is_found_with_its_cause(message: str, fix: str, cause: str) -> None:
    [lesson] = lessons_from_statements(message)

    assert (lesson.type, lesson.trust) == ("error_recovery", "person")
    assert lesson.solution == {"fix": fix} | ({"cause": cause} if cause else {})
    assert lesson.intent == (cause or fix)
    assert lesson.fields["weight"] == CANDIDATE_WEIGHT


@pytest.mark.parametrize("message", NOTHING)
def test_questions_quotations_and_small_talk_teach_nothing(message: str) -> None:
    assert lessons_from_statements(message) == []


@pytest.mark.parametrize(
    "message",
    [
        "Always use tabs here.",
        "Bitte verwende immer Tabulatoren.",
        "Utilise toujours des tabulations.",
        "Usa siempre tabuladores.",
        "请始终使用制表符缩进。",
        "I prefer tabs over spaces.",
    ],
)
def test_a_preference_is_a_candidate_of_little_confidence(message: str) -> None:
    [lesson] = lessons_from_statements(message)

    assert lesson.type == "user_preference"
    assert lesson.fields == {"confidence": 0.4, "weight": CANDIDATE_WEIGHT}
    assert lesson.intent == lesson.solution["preference"]


@pytest.mark.parametrize(
    "message", ["We decided to use SQLite.", "Wir haben uns für SQLite entschieden.", "我们决定使用数据库了。"]
)
def test_a_decision_is_kept_as_what_was_done(message: str) -> None:
    [lesson] = lessons_from_statements(message)

    assert (lesson.type, lesson.solution) == (
        "task_solution",
        {"decision": message.rstrip("。") if "我" in message else message},
    )


def test_b11_no_whole_message_is_stored_and_more_than_english_is_read() -> None:
    message = "Hello there. " + "I had a long day. " * 20 + "The fix was to delete the lock file. " + "Bye now. " * 20
    [lesson] = lessons_from_statements(message)

    assert lesson.solution == {"fix": "delete the lock file"}
    assert len({lessons_from_statements(one)[0].intent for one, _, _ in FIXES}) == len(FIXES)
