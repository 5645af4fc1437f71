"""What slash commands show as text."""

from promptuary.memory.values import ForgetReport
from promptuary.present.plain_text import plain_text


def test_who_forgets_a_note_that_git_tracks_is_told_that_its_history_still_has_it() -> None:
    for done in (False, True):
        told = plain_text(ForgetReport("note-1", in_git=True, done=done))
        assert "what was committed stays in the history of git" in told
        assert "git" not in plain_text(ForgetReport("note-1", done=done))
