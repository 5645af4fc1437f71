-- name: scan_by_key
-- Prepare to read tables in the order of their keys, a page at a time. The planner cannot estimate what the policies let
-- through, and would sort all that is left for each page.
SELECT set_config('enable_sort', 'off', true), set_config('enable_bitmapscan', 'off', true);

-- name: index_tables
-- The tables of indexes that are in the database, which can be made again.
SELECT relname FROM pg_class
WHERE relnamespace = 'promptuary'::regnamespace AND relkind = 'r' AND starts_with(relname, 'index_');
