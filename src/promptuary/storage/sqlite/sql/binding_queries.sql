-- name: binding
-- The owner of this database, if recorded.
SELECT value FROM binding;

-- name: bind
-- Record the owner of this database.
INSERT INTO binding (one, value) VALUES (1, :value) ON CONFLICT (one) DO UPDATE SET value = excluded.value;
