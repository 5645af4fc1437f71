-- How every connection is set up, in this order.

-- Readers never wait for a writer, and a writer never waits for readers.
PRAGMA journal_mode = WAL;

-- A commit returns when its bytes are on the disk; the next lower level loses commits in a power cut.
PRAGMA synchronous = FULL;

PRAGMA foreign_keys = ON;

-- The file may have come with somebody else's folder: its schema must not run functions with side effects.
PRAGMA trusted_schema = OFF;

-- A damaged page is noticed when it is read.
PRAGMA cell_size_check = ON;

-- The log shrinks again after a burst of writing.
PRAGMA journal_size_limit = 16777216;

-- The inner pages of a large table stay in memory, and a row is one page to read: 16 MB, taken only as they are read.
PRAGMA cache_size = -16384;
