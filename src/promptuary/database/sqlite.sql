-- name: take
-- Count up the token of a lock, and return it.
INSERT INTO lease (tenant, name, token) VALUES (:tenant, :key, 1)
ON CONFLICT (tenant, name) DO UPDATE SET token = token + 1
RETURNING token;

-- name: token
-- The token of the last holder of a lock.
SELECT token FROM lease WHERE tenant = :tenant AND name = :key;

-- name: add_change
-- Append to the feed of changes, and return its number. There is one writer at a time, so the next one is free.
INSERT INTO change (tenant, seq, owner, noun, id)
SELECT :tenant, 1 + coalesce(max(seq), 0), :owner, :noun, :id FROM change WHERE tenant = :tenant
RETURNING seq;

-- name: drop_changes
-- Drop old changes.
DELETE FROM change WHERE tenant = :tenant AND seq <= :seq;

-- name: changes
-- The changes after one, the oldest first.
SELECT seq, owner, noun, id FROM change WHERE tenant = :tenant AND seq > :after ORDER BY seq;
