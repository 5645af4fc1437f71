"""The SQL of ``state.db``: how a connection is set up, the steps of its schema, and the queries by name."""

from typing import Final

SQL: Final = __name__
"""The package in which they lie."""

STEPS: Final = (
    "schema_1_threads.sql",
    "schema_2_vectors.sql",
    "schema_3_principals.sql",
    "schema_4_binding.sql",
    "schema_5_checksums.sql",
    "schema_6_notes.sql",
    "schema_7_writeback.sql",
)
"""The scripts that made the tables what they are, in order. A change of the tables is one more at the end."""
