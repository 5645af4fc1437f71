"""How the tables of ``state.db`` came to be, step by step."""

from typing import Final

STEPS: Final = ("schema_1_threads.sql", "schema_2_vectors.sql", "schema_3_principals.sql")
"""The scripts that made the tables what they are, in order; a change of the tables is one more."""
