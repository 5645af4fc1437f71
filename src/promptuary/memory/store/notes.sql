-- name: add_note_owner
-- Record the owner of an id.
INSERT INTO note_owner (tenant, space, note, owner, checksum) VALUES (:tenant, :space, :note, :owner, :checksum);

-- name: note_owner
-- The owner of an id.
SELECT note_owner.owner, checksum, owner.kind, owner.name, owner.agent, note
FROM note_owner
JOIN owner ON owner.tenant = note_owner.tenant AND owner.owner = note_owner.owner
WHERE note_owner.tenant = :tenant AND space = :space AND note = :note;

-- name: every_owner
-- The owner of every id.
SELECT note_owner.owner, checksum, owner.kind, owner.name, owner.agent, note
FROM note_owner
JOIN owner ON owner.tenant = note_owner.tenant AND owner.owner = note_owner.owner
WHERE note_owner.tenant = :tenant AND space = :space;

-- name: note_owners
-- Every owner ever recorded, of notes and of threads.
SELECT kind, name, agent
FROM owner
WHERE tenant = :tenant
ORDER BY owner;

-- name: put_note
-- Store what a file is now. A row at its path is changed in place: an index of columns that stay is not touched.
INSERT INTO note (
    tenant, space, path, note, reader, rev, recorded, size, modified, changed, inode, header, audience, kind, status,
    tags, updated_at, pinned, trust, external, fingerprint
) VALUES (
    :tenant, :space, :path, :note, :reader, :rev, :recorded, :size, :modified, :changed, :inode, :header, :audience,
    :kind, :status, :tags, :updated_at, :pinned, :trust, :external, :fingerprint
)
ON CONFLICT (tenant, space, path) DO UPDATE SET
    note = excluded.note, reader = excluded.reader, rev = excluded.rev, recorded = excluded.recorded,
    size = excluded.size, modified = excluded.modified, changed = excluded.changed, inode = excluded.inode,
    header = excluded.header, audience = excluded.audience, kind = excluded.kind, status = excluded.status,
    tags = excluded.tags, updated_at = excluded.updated_at, pinned = excluded.pinned, trust = excluded.trust,
    external = excluded.external, fingerprint = excluded.fingerprint;

-- name: put_reader
-- The file of a note, if it is in the database, is for whom the note is for.
UPDATE note_file SET reader = :reader WHERE tenant = :tenant AND space = :space AND path = :path AND reader <> :reader;

-- name: counted
-- As what the note at a path is counted.
SELECT reader, kind, status FROM note WHERE tenant = :tenant AND space = :space AND path = :path;

-- name: count_note
-- Add to the number of notes of a reader, a kind and a status.
INSERT INTO note_count (tenant, space, reader, kind, status, count)
VALUES (:tenant, :space, :reader, :kind, :status, :more)
ON CONFLICT (tenant, space, reader, kind, status) DO UPDATE SET count = note_count.count + excluded.count;

-- name: drop_path
-- Delete the record of a file.
DELETE FROM note WHERE tenant = :tenant AND space = :space AND path = :path RETURNING reader, kind, status;

-- name: drop_note
-- Delete the records of a note: where it is visible, and at one path.
DELETE FROM note
WHERE tenant = :tenant AND space = :space AND note = :note AND (reader IS NOT NULL OR path = :path)
RETURNING reader, kind, status;

-- name: drop_note_elsewhere
-- Delete the records of a note where it is visible, except at one path.
DELETE FROM note
WHERE tenant = :tenant AND space = :space AND note = :note AND reader IS NOT NULL AND path <> :path
RETURNING reader, kind, status;

-- name: drop_every
-- Delete the records of every file that claims an id.
DELETE FROM note WHERE tenant = :tenant AND space = :space AND note = :note RETURNING reader, kind, status;

-- name: known_files
-- Every file, as it was last seen.
SELECT path, note, rev, size, modified, changed, inode, recorded, trust FROM note
WHERE tenant = :tenant AND space = :space;

-- name: known_file
-- The file with an id or at a path; of several that claim an id, the one that is visible.
SELECT path, note, rev, size, modified, changed, inode, recorded, trust FROM (
    SELECT * FROM note WHERE tenant = :tenant AND space = :space AND note = :key
    UNION ALL
    SELECT * FROM note WHERE tenant = :tenant AND space = :space AND path = :key
) AS note
ORDER BY reader IS NULL, path
LIMIT 1;

-- name: note_at
-- The note with an id or at a path, for one of two readers. `+ 0`: an index by reader would find nearly all of them.
SELECT header FROM (
    SELECT * FROM note WHERE tenant = :tenant AND space = :space AND note = :key
    UNION ALL
    SELECT * FROM note WHERE tenant = :tenant AND space = :space AND path = :key
) AS note
WHERE reader + 0 IN (0, :reader)
LIMIT 1;

-- name: notes
-- The notes of one of two readers that match, in order.
SELECT header, pinned, updated_at, path FROM note WHERE tenant = :tenant AND space = :space AND reader = 0
    AND (:audiences = '' OR :audiences LIKE '%|' || audience || '|%')
    AND (:kinds = '' OR :kinds LIKE '%|' || kind || '|%')
    AND (:statuses = '' OR :statuses LIKE '%|' || status || '|%')
    AND (:tag = '' OR tags LIKE :tag ESCAPE '!')
UNION ALL
SELECT header, pinned, updated_at, path FROM note WHERE tenant = :tenant AND space = :space AND reader = :reader
    AND (:audiences = '' OR :audiences LIKE '%|' || audience || '|%')
    AND (:kinds = '' OR :kinds LIKE '%|' || kind || '|%')
    AND (:statuses = '' OR :statuses LIKE '%|' || status || '|%')
    AND (:tag = '' OR tags LIKE :tag ESCAPE '!')
ORDER BY pinned DESC, updated_at DESC, path
LIMIT :limit;

-- name: notes_alike
-- The notes of one of two readers that say the same and match, in order. There are few, and an index has them;
-- `+ 0`: that by reader would find nearly all of them.
SELECT header FROM note
WHERE tenant = :tenant AND space = :space AND fingerprint = :fingerprint AND reader + 0 IN (0, :reader)
    AND (:audiences = '' OR :audiences LIKE '%|' || audience || '|%')
    AND (:kinds = '' OR :kinds LIKE '%|' || kind || '|%')
    AND (:statuses = '' OR :statuses LIKE '%|' || status || '|%')
    AND (:tag = '' OR tags LIKE :tag ESCAPE '!')
ORDER BY pinned DESC, updated_at DESC, path
LIMIT :limit;

-- name: count_notes
-- How many notes of two readers match.
SELECT coalesce(sum(count), 0) FROM note_count
WHERE tenant = :tenant AND space = :space AND reader IN (:everybody, :reader)
    AND (:kinds = '' OR :kinds LIKE '%|' || kind || '|%')
    AND (:statuses = '' OR :statuses LIKE '%|' || status || '|%');

-- name: unadopted
-- The private notes that nobody owns, and the shared ones that came from elsewhere.
SELECT header FROM note
WHERE tenant = :tenant AND space = :space AND (reader IS NULL OR external = 1)
ORDER BY path;

-- name: is_brought
-- Whether a file was in the folder before this database, and nobody adopted it.
SELECT EXISTS (SELECT 1 FROM brought_note WHERE tenant = :tenant AND path IN ('', :path));

-- name: unbring
-- Record that a file is the person's.
DELETE FROM brought_note WHERE tenant = :tenant AND path = :path;

-- name: put_note_text
-- Store the text of a note.
INSERT INTO note_text (tenant, space, note, sha256, packed, body)
VALUES (:tenant, :space, :note, :sha256, :packed, :body)
ON CONFLICT (tenant, space, note, sha256) DO NOTHING;

-- name: note_text
-- A text of a note.
SELECT sha256, packed, body FROM note_text
WHERE tenant = :tenant AND space = :space AND note = :note AND sha256 = :sha256;

-- name: next_change
-- The number of the next change of a space: the last change is never removed before there is another.
SELECT coalesce(max(number), 0) + 1 FROM note_change WHERE tenant = :tenant AND space = :space;

-- name: add_change
-- Add a change to the journal.
INSERT INTO note_change (tenant, space, number, note, kind, rev, text, body, checksum)
VALUES (:tenant, :space, :number, :note, :kind, :rev, :text, :body, :checksum);

-- name: changes
-- The changes of a note, the oldest first.
SELECT number, change.note, text, change.body, checksum, sha256, packed, note_text.body
FROM note_change AS change
LEFT JOIN note_text
    ON note_text.tenant = change.tenant AND note_text.space = change.space AND note_text.note = change.note
    AND sha256 = text
WHERE change.tenant = :tenant AND change.space = :space AND change.note = :note
ORDER BY number;

-- name: every_change
-- The changes of every note, without their texts.
SELECT number, note, text, body, checksum, NULL, 0, NULL FROM note_change
WHERE tenant = :tenant AND space = :space
ORDER BY note, number;

-- name: last_texts
-- The text after the last change of every note.
SELECT last.note, sha256, packed, note_text.body
FROM (
    SELECT note, max(number) AS number FROM note_change WHERE tenant = :tenant AND space = :space GROUP BY note
) AS last
JOIN note_change AS change
    ON change.tenant = :tenant AND change.space = :space AND change.number = last.number
JOIN note_text
    ON note_text.tenant = :tenant AND note_text.space = :space AND note_text.note = last.note
    AND sha256 = change.text;

-- name: audience
-- Where a note is now, if it is visible.
SELECT audience FROM note WHERE tenant = :tenant AND space = :space AND note = :note AND reader IS NOT NULL;

-- name: audiences
-- Where every visible note is now.
SELECT note, audience FROM note WHERE tenant = :tenant AND space = :space AND reader IS NOT NULL;

-- name: is_recorded
-- Whether a content of a note was written here.
SELECT EXISTS (
    SELECT 1 FROM note WHERE tenant = :tenant AND space = :space AND note = :note AND rev = :rev AND recorded = 1
) OR EXISTS (
    SELECT 1 FROM note_change WHERE tenant = :tenant AND space = :space AND note = :note AND rev = :rev
);

-- name: count_changes
-- How many entries about a note there are, except the one that it was forgotten.
SELECT count(*) FROM note_change WHERE tenant = :tenant AND space = :space AND note = :note AND kind <> 'forget';

-- name: forget_changes
-- Delete the entries about a note.
DELETE FROM note_change WHERE tenant = :tenant AND space = :space AND note = :note AND kind <> 'forget';

-- name: forget_texts
-- Delete the texts of a note.
DELETE FROM note_text WHERE tenant = :tenant AND space = :space AND note = :note;

-- name: forgotten
-- The notes that were forgotten: nothing else is known of them.
SELECT note FROM note_change WHERE tenant = :tenant AND space = :space AND kind = 'forget'
GROUP BY note
ORDER BY min(number);
