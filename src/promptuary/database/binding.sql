-- name: binding
-- The owner of this database, if recorded.
SELECT value FROM binding WHERE tenant = :tenant;

-- name: bind
-- Record the owner of this database.
INSERT INTO binding (tenant, value) VALUES (:tenant, :value) ON CONFLICT (tenant) DO UPDATE SET value = excluded.value;

-- name: keep_mark
-- Make sure that no other copy to this database has begun; one that does waits for this transaction.
UPDATE binding SET value = :value WHERE tenant = :tenant AND value = :value;

-- name: tables
-- The tables in which only a database that was used has rows.
SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%' AND name NOT IN ('owner', 'tenant');

-- name: bring
-- Record that a file of notes was there before this database.
INSERT INTO brought_note (tenant, path) VALUES (:tenant, :path) ON CONFLICT (tenant, path) DO NOTHING;
