"""The schema of ``state.db``, step by step."""

from typing import Final

STEPS: Final = (
    "1_threads.sql",
    "2_vectors.sql",
    "3_principals.sql",
    "4_binding.sql",
    "5_checksums.sql",
    "6_notes.sql",
    "7_writeback.sql",
    "8_forgetting.sql",
    "9_ledger.sql",
    "10_experiences.sql",
    "11_sessions.sql",
    "12_unforgotten.sql",
    "13_note_counts.sql",
    "14_notes_from_elsewhere.sql",
    "15_port.sql",
    "16_anew.sql",
    "notes.sql",
    "writeback.sql",
    "experiences.sql",
    "sessions.sql",
)
"""The migration scripts, in order. A change of the tables adds one at the end."""
