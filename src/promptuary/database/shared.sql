-- name: take
-- Count up the token of a lock, and return it.
INSERT INTO lease (tenant, name, token) VALUES (:tenant, :key, 1)
ON CONFLICT (tenant, name) DO UPDATE SET token = lease.token + 1
RETURNING token;

-- name: token
-- The token of the last holder of a lock.
SELECT token FROM lease WHERE tenant = :tenant AND name = :key;

-- name: add_change
-- Append to the feed of an owner, and return the number. No other writer of it runs, so the next one is free.
INSERT INTO change (tenant, owner, seq, noun, id, event, at, actor, place)
SELECT :tenant, :owner, 1 + coalesce(max(seq), 0), :noun, :id, :event, :at, :actor, :place
FROM change WHERE tenant = :tenant AND owner = :owner
RETURNING seq;

-- name: drop_changes
-- Drop old changes.
DELETE FROM change WHERE tenant = :tenant AND owner = :owner AND seq <= :seq;
