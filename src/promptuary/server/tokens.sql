-- name: create
-- Stores a new token.
INSERT INTO token (tenant, id, hash, body, expires, revoked) VALUES (:tenant, :id, :hash, :body, :expires, '');

-- name: tokens
-- Returns every token with the last day on which it was used, as they were made.
SELECT hash, body, revoked, coalesce((SELECT max(day) FROM used WHERE used.tenant = token.tenant AND used.token = token.id), '')
FROM token WHERE tenant = :tenant ORDER BY id;

-- name: count_tokens
-- Returns how many tokens there are.
SELECT count(*) FROM token WHERE tenant = :tenant;

-- name: revoke
-- Revokes a token, unless it is revoked.
UPDATE token SET revoked = :now WHERE tenant = :tenant AND id = :id AND revoked = '';

-- name: drop_tokens
-- Drops tokens that ended long ago, with what they used.
DELETE FROM token WHERE tenant = :tenant AND (revoked BETWEEN '0' AND :before OR expires BETWEEN '0' AND :before);

-- name: drop_used
-- Drops what was used long ago.
DELETE FROM used WHERE tenant = :tenant AND day < :before;

-- name: change
-- Says that tokens changed.
UPDATE tenant SET version = version + 1 WHERE tenant = :tenant;

-- name: version
-- Returns how often tokens changed.
SELECT version FROM tenant WHERE tenant = :tenant;

-- name: add_use
-- Adds to what a token used on a day; nothing, if there is no such token any more.
INSERT INTO used (tenant, token, day, requests, tokens, money)
SELECT :tenant, id, :day, :requests, :tokens, :money FROM token WHERE tenant = :tenant AND id = :token
ON CONFLICT (tenant, token, day) DO UPDATE SET
    requests = requests + excluded.requests, tokens = tokens + excluded.tokens, money = money + excluded.money;

-- name: use
-- Returns what a token used on a day.
SELECT requests, tokens, money FROM used WHERE tenant = :tenant AND token = :token AND day = :day;

-- name: count_claim
-- Counts up the claims, and returns the number for a new one.
UPDATE tenant SET claimed = claimed + 1 WHERE tenant = :tenant RETURNING claimed;

-- name: claim
-- Says whose an id is, unless it is somebody's.
INSERT INTO claim (tenant, id, what, number, kind, name, agent) VALUES (:tenant, :id, :what, :number, :kind, :name, :agent)
ON CONFLICT (tenant, id) DO NOTHING;

-- name: drop_claims
-- Drops the oldest claims of an owner.
DELETE FROM claim WHERE tenant = :tenant AND kind = :kind AND name = :name AND agent = :agent AND number <= (
    SELECT number FROM claim WHERE tenant = :tenant AND kind = :kind AND name = :name AND agent = :agent
    ORDER BY number DESC LIMIT 1 OFFSET :most
);

-- name: claimed_by
-- Returns whose an id is.
SELECT kind, name, agent FROM claim WHERE tenant = :tenant AND id = :id;

-- name: count_audit
-- Counts up the rows of the audit trail, and returns the number for a new one.
UPDATE tenant SET audited = audited + 1 WHERE tenant = :tenant RETURNING audited;

-- name: add_audit
-- Adds a row to the audit trail.
INSERT INTO audit (tenant, number, time, token, user, agent, "group", method, route, status, thread, turn)
VALUES (:tenant, :number, :time, :token, :user, :agent, :group, :method, :route, :status, :thread, :turn);

-- name: drop_audit
-- Drops the oldest rows of the audit trail.
DELETE FROM audit WHERE tenant = :tenant AND number <= :number;

-- name: audit
-- Returns the last rows of the audit trail, the newest first.
SELECT time, token, user, agent, "group", method, route, status, thread, turn FROM audit
WHERE tenant = :tenant ORDER BY number DESC LIMIT :most;

-- name: begin
-- Stores that a request was begun, unless it is known.
INSERT INTO begun (tenant, key, body, time) VALUES (:tenant, :key, :body, :now) ON CONFLICT (tenant, key) DO NOTHING;

-- name: begun
-- Returns the body with which a request was begun.
SELECT body FROM begun WHERE tenant = :tenant AND key = :key;

-- name: drop_begun
-- Drops what was begun long ago.
DELETE FROM begun WHERE tenant = :tenant AND time < :before;

-- name: not_begun
-- Forgets a request that was not carried out.
DELETE FROM begun WHERE tenant = :tenant AND key = :key;

-- name: add_invitation
-- Stores the hash of a code with which somebody can sign in; nothing, if there is no such token.
INSERT INTO invitation (tenant, id, token, expires) SELECT :tenant, :id, id, :expires FROM token WHERE tenant = :tenant AND id = :token;

-- name: take_invitation
-- Removes a code that is valid, and returns its token.
DELETE FROM invitation WHERE tenant = :tenant AND id = :id AND expires > :now RETURNING token;

-- name: drop_invitations
-- Drops codes that were not used in time.
DELETE FROM invitation WHERE tenant = :tenant AND expires <= :now;

-- name: add_session
-- Stores the hash of a session; nothing, if there is no such token.
INSERT INTO session (tenant, id, token, expires) SELECT :tenant, :id, id, :expires FROM token WHERE tenant = :tenant AND id = :token;

-- name: find_session
-- Returns the token of a session that has not ended.
SELECT token FROM session WHERE tenant = :tenant AND id = :id AND expires > :now;

-- name: end_session
-- Ends a session.
DELETE FROM session WHERE tenant = :tenant AND id = :id;

-- name: drop_sessions
-- Drops sessions that ended.
DELETE FROM session WHERE tenant = :tenant AND expires <= :now;
