-- name: take
-- Take a lock that is free or whose holder did not say in time that it is alive, and return its new token.
INSERT INTO lease (tenant, name, token, until)
VALUES (:tenant, :key, 1, clock_timestamp() + make_interval(secs => :seconds))
ON CONFLICT (tenant, name) DO UPDATE SET token = lease.token + 1, until = excluded.until
WHERE lease.until <= clock_timestamp()
RETURNING token;

-- name: token
-- The token of the last holder of a lock. Nobody takes it over before this transaction ends.
SELECT token FROM lease WHERE tenant = :tenant AND name = :key FOR SHARE;
