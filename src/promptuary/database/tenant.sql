-- name: role
-- Whether policies do not hold for the role that works, and whether it owns our tables.
SELECT
    rolsuper OR rolbypassrls,
    EXISTS (
        SELECT 1 FROM pg_catalog.pg_tables WHERE schemaname = 'promptuary' AND tableowner = current_user
    )
FROM pg_catalog.pg_roles WHERE rolname = current_user;

-- name: open_tables
-- The tables whose policies are missing or switched off. A partition does not take those of its table, and lies anywhere.
SELECT held.relname FROM pg_catalog.pg_class AS held
JOIN pg_catalog.pg_attribute ON attrelid = held.oid AND attname = 'tenant'
JOIN pg_catalog.pg_class AS whole ON whole.oid = coalesce(pg_partition_root(held.oid), held.oid)
WHERE whole.relnamespace = 'promptuary'::regnamespace AND held.relkind IN ('r', 'p') AND NOT (
    held.relrowsecurity AND held.relforcerowsecurity
    AND EXISTS (SELECT 1 FROM pg_catalog.pg_policy WHERE polrelid = held.oid)
)
ORDER BY held.relname;

-- name: without_default
-- The tables that are cut by list or range and have no partition for what no other takes.
SELECT relname FROM pg_catalog.pg_partitioned_table
JOIN pg_catalog.pg_class ON pg_class.oid = partrelid
WHERE relnamespace = 'promptuary'::regnamespace AND partstrat <> 'h' AND partdefid = 0
ORDER BY relname;

-- name: oldest
-- How many seconds the oldest transaction that this role may see has been open.
SELECT coalesce(max(extract(epoch FROM now() - xact_start)), 0)::bigint FROM pg_catalog.pg_stat_activity
WHERE datname = current_database();

-- name: vectors
-- The version of pgvector, NULL without it, and whether there is the table that needs it.
SELECT
    (SELECT extversion FROM pg_catalog.pg_extension WHERE extname = 'vector'),
    EXISTS (SELECT 1 FROM pg_catalog.pg_tables WHERE schemaname = 'promptuary' AND tablename = 'index_vector');
