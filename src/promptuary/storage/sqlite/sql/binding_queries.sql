-- name: binding
-- Whose this database is, if that was said.
SELECT value FROM binding;

-- name: bind
-- Say whose this database is.
INSERT INTO binding (one, value) VALUES (1, :value) ON CONFLICT (one) DO UPDATE SET value = excluded.value;
