"""The SQL of ``state.db``: how a connection is set up, the steps of its schema, and the queries by name."""

from typing import Final

SQL: Final = __name__
"""The package that contains them."""

STEPS: Final = (
    "schema/1_threads.sql",
    "schema/2_vectors.sql",
    "schema/3_principals.sql",
    "schema/4_binding.sql",
    "schema/5_checksums.sql",
    "schema/6_notes.sql",
    "schema/7_writeback.sql",
    "schema/8_forgetting.sql",
    "schema/9_ledger.sql",
    "schema/10_experiences.sql",
    "schema/11_sessions.sql",
    "schema/12_unforgotten.sql",
    "schema/13_note_counts.sql",
    "schema/14_notes_from_elsewhere.sql",
)
"""The migration scripts, in order. A change of the tables adds one at the end."""
