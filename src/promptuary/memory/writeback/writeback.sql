-- name: add_turn
-- Add a turn that waits for writeback, behind all others.
INSERT INTO writeback_turn (tenant, owner, turn, place, thread, at, body, due, leased, tries, error)
SELECT :tenant, :owner, :turn, coalesce(max(place), 0) + 1, :thread, :at, :body, :due, 0, :tries, :error
FROM writeback_turn WHERE tenant = :tenant AND owner = :owner
ON CONFLICT (tenant, owner, turn) DO NOTHING;

-- name: due_turn
-- The turn that has been due longest and is not leased.
SELECT turn, thread, at, body, due, tries, error FROM writeback_turn
WHERE tenant = :tenant AND owner = :owner AND due <= :now AND leased <= :now
ORDER BY due, place
LIMIT 1;

-- name: lease_turn
-- Lease a turn, or end its lease.
UPDATE writeback_turn SET leased = :leased
WHERE tenant = :tenant AND owner = :owner AND turn = :turn AND leased = coalesce(:lease, leased);

-- name: done_turn
-- Remove a turn, unless it has another lease.
DELETE FROM writeback_turn
WHERE tenant = :tenant AND owner = :owner AND turn = :turn AND leased = coalesce(:lease, leased);

-- name: failed_turn
-- Record that an attempt failed, unless the turn has another lease.
UPDATE writeback_turn SET tries = tries + 1, leased = 0, due = :due, error = :error
WHERE tenant = :tenant AND owner = :owner AND turn = :turn AND leased = coalesce(:lease, leased);

-- name: rename_turns
-- Record that the thread of turns was renamed.
UPDATE writeback_turn SET thread = :name WHERE tenant = :tenant AND owner = :owner AND thread = :thread;

-- name: waiting_turns
-- Every turn that waits, the oldest first.
SELECT turn, thread, at, body, due, tries, error FROM writeback_turn
WHERE tenant = :tenant AND owner = :owner
ORDER BY place;

-- name: is_proposed
-- Whether a proposal that would do the same waits or was rejected.
SELECT EXISTS (SELECT 1 FROM proposal WHERE tenant = :tenant AND owner = :owner AND fingerprint = :fingerprint);

-- name: add_proposal
-- Add a proposal, behind all others.
INSERT INTO proposal (tenant, owner, proposal, place, fingerprint, body, checksum)
SELECT :tenant, :owner, :proposal, coalesce(max(place), 0) + 1, :fingerprint, :body, :checksum
FROM proposal WHERE tenant = :tenant AND owner = :owner;

-- name: proposals
-- Every proposal that waits, the oldest first.
SELECT body, checksum FROM proposal
WHERE tenant = :tenant AND owner = :owner AND body IS NOT NULL
ORDER BY place;

-- name: proposal
-- One proposal that waits.
SELECT body, checksum FROM proposal
WHERE tenant = :tenant AND owner = :owner AND proposal = :proposal AND body IS NOT NULL;

-- name: replace_proposal
-- Replace the text of a waiting proposal.
UPDATE proposal SET fingerprint = :fingerprint, body = :body, checksum = :checksum
WHERE tenant = :tenant AND owner = :owner AND proposal = :proposal AND body IS NOT NULL;

-- name: remove_proposal
-- Remove a proposal that waits.
DELETE FROM proposal WHERE tenant = :tenant AND owner = :owner AND proposal = :proposal AND body IS NOT NULL;

-- name: reject_proposal
-- Reduce a proposal to the record that it was rejected.
UPDATE proposal SET body = NULL, checksum = 0
WHERE tenant = :tenant AND owner = :owner AND proposal = :proposal AND body IS NOT NULL;
