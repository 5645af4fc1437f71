-- name: hold_owner
-- Keep other writers of what an owner has waiting.
SELECT 1 FROM owner WHERE tenant = :tenant AND owner = :owner FOR UPDATE;

-- name: hold_everybodys
-- Keep other writers of what everybody shares waiting.
SELECT 1 FROM tenant WHERE tenant = :tenant FOR UPDATE;

-- name: hold_all
-- Keep all writers waiting.
SELECT 1 FROM owner WHERE tenant = :tenant ORDER BY owner FOR UPDATE;

-- name: renew_lease
-- Say that the holder of a lock is alive, unless it has released it meanwhile.
UPDATE lease SET until = clock_timestamp() + make_interval(secs => :seconds)
WHERE tenant = :tenant AND name = :key AND token = :token AND until > '-infinity';

-- name: end_lease
-- Release a lock, unless somebody else holds it by now.
UPDATE lease SET until = '-infinity' WHERE tenant = :tenant AND name = :key AND token = :token;

-- name: add_tenant
-- Make a workspace.
INSERT INTO tenant (tenant, owners) VALUES (:tenant, 0) ON CONFLICT (tenant) DO NOTHING;

-- name: has_tenant
-- Whether there is a workspace.
SELECT EXISTS (SELECT 1 FROM tenant WHERE tenant = :tenant);

-- name: drop_written
-- Forget which transactions were committed long ago: nobody asks any more.
DELETE FROM written WHERE tenant = :tenant AND at < now() - interval '1 day';
