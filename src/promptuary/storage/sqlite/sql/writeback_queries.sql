-- name: add_turn
-- Add a turn that waits for writeback.
INSERT INTO writeback_turn (owner, turn, thread, at, body, due, leased, tries, error)
VALUES (?, ?, ?, ?, ?, ?, 0, ?, ?)
ON CONFLICT (owner, turn) DO NOTHING;

-- name: due_turn
-- The turn that has been due longest and is with nobody.
SELECT turn, thread, at, body, due, tries, error FROM writeback_turn
WHERE owner = :owner AND due <= :now AND leased <= :now
ORDER BY due, number
LIMIT 1;

-- name: lease_turn
-- Keep a turn for whoever took it.
UPDATE writeback_turn SET leased = :leased WHERE owner = :owner AND turn = :turn;

-- name: done_turn
-- Remove a turn.
DELETE FROM writeback_turn WHERE owner = :owner AND turn = :turn;

-- name: failed_turn
-- Note that an attempt failed.
UPDATE writeback_turn SET tries = tries + 1, leased = 0, due = :due, error = :error
WHERE owner = :owner AND turn = :turn;

-- name: waiting_turns
-- Every turn that waits, the oldest first.
SELECT turn, thread, at, body, due, tries, error FROM writeback_turn WHERE owner = :owner ORDER BY number;

-- name: is_proposed
-- Whether a proposal that would do the same waits or was rejected.
SELECT EXISTS (SELECT 1 FROM proposal WHERE owner = :owner AND fingerprint = :fingerprint);

-- name: add_proposal
-- Add a proposal.
INSERT INTO proposal (owner, proposal, fingerprint, body, checksum)
VALUES (:owner, :proposal, :fingerprint, :body, :checksum);

-- name: proposals
-- Every proposal that waits, the oldest first.
SELECT body, checksum FROM proposal WHERE owner = :owner AND body IS NOT NULL ORDER BY number;

-- name: proposal
-- One proposal that waits.
SELECT body, checksum FROM proposal WHERE owner = :owner AND proposal = :proposal AND body IS NOT NULL;

-- name: replace_proposal
-- Put another text into the place of a proposal that waits.
UPDATE proposal SET fingerprint = :fingerprint, body = :body, checksum = :checksum
WHERE owner = :owner AND proposal = :proposal AND body IS NOT NULL;

-- name: remove_proposal
-- Remove a proposal that waits.
DELETE FROM proposal WHERE owner = :owner AND proposal = :proposal AND body IS NOT NULL;

-- name: reject_proposal
-- Keep of a proposal only that it was rejected.
UPDATE proposal SET body = NULL, checksum = 0 WHERE owner = :owner AND proposal = :proposal AND body IS NOT NULL;
