-- name: add_space
-- Make sure that a space has a number.
INSERT INTO note_space (name) VALUES (:name) ON CONFLICT (name) DO NOTHING;

-- name: find_space
-- The number of a space.
SELECT id FROM note_space WHERE name = :name;

-- name: add_note_owner
-- Record the owner of an id.
INSERT INTO note_owner (space, note, owner, checksum) VALUES (:space, :note, :owner, :checksum);

-- name: note_owner
-- The owner of an id.
SELECT note_owner.owner, checksum, owner.kind, owner.name, owner.agent, note
FROM note_owner
JOIN owner ON owner.id = note_owner.owner
WHERE space = :space AND note = :note;

-- name: note_owners
-- Every owner ever recorded, of notes and of threads. The local user is always the first.
SELECT kind, name, agent
FROM owner
WHERE id > 1 OR (id = 1 AND EXISTS (SELECT 1 FROM note_owner WHERE note_owner.owner = 1));

-- name: put_note
-- Store what a file is now. A row at its path is that of the same note, and is changed in place: an index of columns that
-- are not named below is not touched.
INSERT INTO note (
    space, reader, owner, recorded, size, modified, changed, inode, note, path, scope, audience, kind, title, rev,
    status, summary, tags, created_at, created_by, updated_at, updated_by, source, source_ref, valid_from, valid_until,
    supersedes, pinned, confidence, trust, external, fingerprint, problem
) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (space, path) DO UPDATE SET
    reader = excluded.reader, owner = excluded.owner, recorded = excluded.recorded, size = excluded.size,
    modified = excluded.modified, changed = excluded.changed, inode = excluded.inode,
    scope = excluded.scope, audience = excluded.audience, kind = excluded.kind, title = excluded.title,
    rev = excluded.rev, status = excluded.status, summary = excluded.summary, tags = excluded.tags,
    created_at = excluded.created_at, created_by = excluded.created_by, updated_at = excluded.updated_at,
    updated_by = excluded.updated_by, source = excluded.source, source_ref = excluded.source_ref,
    valid_from = excluded.valid_from, valid_until = excluded.valid_until, supersedes = excluded.supersedes,
    pinned = excluded.pinned, confidence = excluded.confidence, trust = excluded.trust, external = excluded.external,
    fingerprint = excluded.fingerprint, problem = excluded.problem;

-- name: drop_path
-- Delete the record of a file.
DELETE FROM note WHERE space = :space AND path = :path;

-- name: drop_note
-- Delete the records of a note: where it is visible, and at one path.
DELETE FROM note WHERE space = :space AND note = :note AND (reader IS NOT NULL OR path = :path);

-- name: drop_note_elsewhere
-- Delete the records of a note where it is visible, except at one path, and of another note at that path.
DELETE FROM note WHERE number IN (
    SELECT number FROM note INDEXED BY note_by_id
    WHERE space = :space AND note = :note AND reader IS NOT NULL AND path <> :path
    UNION ALL
    SELECT number FROM note WHERE space = :space AND path = :path AND note <> :note
);

-- name: drop_every
-- Delete the records of every file that claims an id.
DELETE FROM note WHERE space = :space AND note = :note;

-- name: known_files
-- Every file, as it was last seen.
SELECT path, note, rev, size, modified, changed, inode, recorded, trust FROM note WHERE space = :space;

-- name: known_file
-- The file with an id or at a path; of several that claim an id, the one that is visible.
SELECT path, note, rev, size, modified, changed, inode, recorded, trust
FROM note
WHERE number IN (
    SELECT number FROM note INDEXED BY note_by_id WHERE space = :space AND note = :key
    UNION ALL
    SELECT number FROM note WHERE space = :space AND path = :key
)
ORDER BY reader IS NULL, path
LIMIT 1;

-- name: note_at
-- The note with an id or at a path, for one of two readers.
SELECT
    note.note, path, scope, audience, note.kind, title, rev, status, summary, tags, created_at, created_by, updated_at, updated_by, source,
    source_ref, valid_from, valid_until, supersedes, pinned, confidence, trust, external, fingerprint, problem, owner.kind, owner.name, owner.agent
FROM note
LEFT JOIN owner ON owner.id = note.owner
WHERE reader IN (0, :reader) AND number IN (
    SELECT number FROM note INDEXED BY note_by_id WHERE space = :space AND note = :key
    UNION ALL
    SELECT number FROM note WHERE space = :space AND path = :key
)
LIMIT 1;

-- name: notes
-- The notes of one of two readers that match, in order.
SELECT
    note.note, path, scope, audience, note.kind, title, rev, status, summary, tags, created_at, created_by, updated_at, updated_by, source,
    source_ref, valid_from, valid_until, supersedes, pinned, confidence, trust, external, fingerprint, problem, owner.kind, owner.name, owner.agent
FROM (
    SELECT * FROM (
        SELECT * FROM note WHERE space = :space AND reader = 0
        AND (:audiences = '' OR instr(:audiences, '|' || audience || '|'))
        AND (:kinds = '' OR instr(:kinds, '|' || kind || '|'))
        AND (:statuses = '' OR instr(:statuses, '|' || status || '|'))
        AND (:tag = '' OR instr(tags, :tag))
        AND (:fingerprint = '' OR fingerprint = :fingerprint)
        UNION ALL
        SELECT * FROM note WHERE space = :space AND reader = :reader
        AND (:audiences = '' OR instr(:audiences, '|' || audience || '|'))
        AND (:kinds = '' OR instr(:kinds, '|' || kind || '|'))
        AND (:statuses = '' OR instr(:statuses, '|' || status || '|'))
        AND (:tag = '' OR instr(tags, :tag))
        AND (:fingerprint = '' OR fingerprint = :fingerprint)
    )
    ORDER BY pinned DESC, updated_at DESC, path
    LIMIT :limit
) AS note
LEFT JOIN owner ON owner.id = note.owner
ORDER BY pinned DESC, updated_at DESC, path;

-- name: notes_alike
-- The notes of one of two readers that say the same and match, in order. There are few: the index finds them.
SELECT
    note.note, path, scope, audience, note.kind, title, rev, status, summary, tags, created_at, created_by, updated_at, updated_by, source,
    source_ref, valid_from, valid_until, supersedes, pinned, confidence, trust, external, fingerprint, problem, owner.kind, owner.name, owner.agent
FROM note INDEXED BY note_by_fingerprint
LEFT JOIN owner ON owner.id = note.owner
WHERE space = :space AND fingerprint = :fingerprint AND reader IN (0, :reader)
    AND (:audiences = '' OR instr(:audiences, '|' || audience || '|'))
    AND (:kinds = '' OR instr(:kinds, '|' || note.kind || '|'))
    AND (:statuses = '' OR instr(:statuses, '|' || status || '|'))
    AND (:tag = '' OR instr(tags, :tag))
ORDER BY pinned DESC, updated_at DESC, path
LIMIT :limit;

-- name: count_notes
-- How many notes of two readers match.
SELECT coalesce(sum(count), 0) FROM note_count WHERE space = :space AND reader IN (:everybody, :reader)
    AND (:kinds = '' OR instr(:kinds, '|' || kind || '|'))
    AND (:statuses = '' OR instr(:statuses, '|' || status || '|'));

-- name: unadopted
-- The private notes that nobody owns, and the shared ones that came from elsewhere.
SELECT
    note.note, path, scope, audience, note.kind, title, rev, status, summary, tags, created_at, created_by, updated_at, updated_by, source,
    source_ref, valid_from, valid_until, supersedes, pinned, confidence, trust, external, fingerprint, problem, owner.kind, owner.name, owner.agent
FROM note
LEFT JOIN owner ON owner.id = note.owner
WHERE space = :space AND (reader IS NULL OR external = 1)
ORDER BY path;

-- name: is_brought
-- Whether a file was in the folder before this database, and nobody adopted it.
SELECT EXISTS (SELECT 1 FROM brought_note WHERE path IN ('', :path));

-- name: unbring
-- Record that a file is the person's.
DELETE FROM brought_note WHERE path = :path;

-- name: put_note_text
-- Store the text of a note.
INSERT INTO note_text (space, note, sha256, packed, body) VALUES (?, ?, ?, ?, ?)
ON CONFLICT (space, note, sha256) DO NOTHING;

-- name: add_change
-- Add a change to the journal.
INSERT INTO note_change (space, note, kind, at, actor, rev, path, reason, before, text, trust, checksum)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
RETURNING number;

-- name: changes
-- The changes of a note, the oldest first.
SELECT number, note_change.note, kind, at, actor, rev, path, reason, before, checksum, text, trust, sha256, packed, body
FROM note_change
LEFT JOIN note_text ON note_text.space = note_change.space AND note_text.note = note_change.note AND sha256 = text
WHERE note_change.space = :space AND note_change.note = :note
ORDER BY number;

-- name: every_change
-- The changes of every note, without their texts.
SELECT number, note, kind, at, actor, rev, path, reason, before, checksum, text, trust, NULL, 0, NULL
FROM note_change
WHERE space = :space
ORDER BY note, number;

-- name: note_text
-- A text of a note.
SELECT sha256, packed, body FROM note_text WHERE space = :space AND note = :note AND sha256 = :sha256;

-- name: every_owner
-- The owner of every id.
SELECT note_owner.owner, checksum, owner.kind, owner.name, owner.agent, note
FROM note_owner
JOIN owner ON owner.id = note_owner.owner
WHERE space = :space;

-- name: audience
-- Where a note is now, if it is visible.
SELECT audience FROM note WHERE space = :space AND note = :note AND reader IS NOT NULL;

-- name: audiences
-- Where every visible note is now.
SELECT note, audience FROM note WHERE space = :space AND reader IS NOT NULL;

-- name: is_recorded
-- Whether a content of a note was written here.
SELECT EXISTS (
    SELECT 1 FROM note INDEXED BY note_by_id WHERE space = :space AND note = :note AND rev = :rev AND recorded
) OR EXISTS (SELECT 1 FROM note_change WHERE space = :space AND note = :note AND rev = :rev);

-- name: count_changes
-- How many entries about a note there are, except the one that it was forgotten.
SELECT count(*) FROM note_change WHERE space = :space AND note = :note AND kind <> 'forget';

-- name: forget_changes
-- Delete the entries about a note.
DELETE FROM note_change WHERE space = :space AND note = :note AND kind <> 'forget';

-- name: forget_texts
-- Delete the texts of a note.
DELETE FROM note_text WHERE space = :space AND note = :note;

-- name: add_turn
-- Add a turn that waits for writeback.
INSERT INTO writeback_turn (owner, turn, thread, at, body, due, leased, tries, error)
VALUES (?, ?, ?, ?, ?, ?, 0, ?, ?)
ON CONFLICT (owner, turn) DO NOTHING;

-- name: due_turn
-- The turn that has been due longest and is not leased.
SELECT turn, thread, at, body, due, tries, error FROM writeback_turn
WHERE owner = :owner AND due <= :now AND leased <= :now
ORDER BY due, number
LIMIT 1;

-- name: lease_turn
-- Lease a turn, or end its lease.
UPDATE writeback_turn SET leased = :leased
WHERE owner = :owner AND turn = :turn AND leased = coalesce(:lease, leased);

-- name: done_turn
-- Remove a turn, unless it has another lease.
DELETE FROM writeback_turn WHERE owner = :owner AND turn = :turn AND leased = coalesce(:lease, leased);

-- name: failed_turn
-- Record that an attempt failed, unless the turn has another lease.
UPDATE writeback_turn SET tries = tries + 1, leased = 0, due = :due, error = :error
WHERE owner = :owner AND turn = :turn AND leased = coalesce(:lease, leased);

-- name: rename_turns
-- Record that the thread of turns was renamed.
UPDATE writeback_turn SET thread = :name WHERE owner = :owner AND thread = :thread;

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
-- Replace the text of a waiting proposal.
UPDATE proposal SET fingerprint = :fingerprint, body = :body, checksum = :checksum
WHERE owner = :owner AND proposal = :proposal AND body IS NOT NULL;

-- name: remove_proposal
-- Remove a proposal that waits.
DELETE FROM proposal WHERE owner = :owner AND proposal = :proposal AND body IS NOT NULL;

-- name: reject_proposal
-- Reduce a proposal to the record that it was rejected.
UPDATE proposal SET body = NULL, checksum = 0 WHERE owner = :owner AND proposal = :proposal AND body IS NOT NULL;

-- name: forgotten
-- The notes that were forgotten: nothing else is known of them.
SELECT DISTINCT note FROM note_change WHERE space = :space AND kind = 'forget' ORDER BY number;
