-- name: scan_by_key
-- Prepare to read tables in the order of their keys: nothing to do.
SELECT 1;

-- name: index_tables
-- The tables of indexes that are in the database, which can be made again: none.
SELECT name FROM sqlite_master WHERE 1 = 0;
