-- name: role
-- Whether policies do not hold for the role that works, and whether it owns our tables.
SELECT
    rolsuper OR rolbypassrls,
    EXISTS (
        SELECT 1 FROM pg_catalog.pg_tables WHERE schemaname = 'promptuary' AND tableowner = current_user
    )
FROM pg_catalog.pg_roles WHERE rolname = current_user;

-- name: open_tables
-- The tables whose policies are missing or switched off.
SELECT relname FROM pg_catalog.pg_class
JOIN pg_catalog.pg_attribute ON attrelid = pg_class.oid AND attname = 'tenant'
WHERE relnamespace = 'promptuary'::regnamespace AND relkind IN ('r', 'p') AND NOT (
    relrowsecurity AND relforcerowsecurity
    AND EXISTS (SELECT 1 FROM pg_catalog.pg_policy WHERE polrelid = pg_class.oid)
)
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
