-- name: file
-- A file, for one of two readers.
SELECT content, stamp FROM note_file
WHERE tenant = :tenant AND space = :space AND path = :path AND reader IN (0, :reader);

-- name: held_file
-- A file, for the writer who holds the lock.
SELECT content, stamp FROM note_file WHERE tenant = :tenant AND space = :space AND path = :path;

-- name: files
-- The stamps of the files of two readers.
SELECT path, length(content), stamp FROM note_file
WHERE tenant = :tenant AND space = :space AND reader IN (0, :reader);

-- name: held_files
-- The stamps of all files, for the writer who holds the lock.
SELECT path, length(content), stamp FROM note_file WHERE tenant = :tenant AND space = :space;

-- name: create
-- Add a file, unless there is one.
INSERT INTO note_file (tenant, space, path, reader, stamp, content)
VALUES (:tenant, :space, :path, :reader, :stamp, :content)
ON CONFLICT (tenant, space, path) DO NOTHING;

-- name: replace
-- Replace the content of a file, if it is what is expected.
UPDATE note_file SET content = :content, stamp = :stamp
WHERE tenant = :tenant AND space = :space AND path = :path AND content = :expected;

-- name: move
-- Give a file another path, unless that is taken.
UPDATE note_file SET path = :to, reader = :reader, stamp = :stamp
WHERE tenant = :tenant AND space = :space AND path = :path AND NOT EXISTS (
    SELECT 1 FROM note_file AS other WHERE other.tenant = :tenant AND other.space = :space AND other.path = :to
);

-- name: remove
-- Remove a file.
DELETE FROM note_file WHERE tenant = :tenant AND space = :space AND path = :path;

-- name: follow_journal
-- Make each file one for whom its note is for.
UPDATE note_file SET reader = (
    SELECT note.reader FROM note
    WHERE note.tenant = :tenant AND note.space = :space AND note.path = note_file.path
)
WHERE tenant = :tenant AND space = :space AND path IN (
    SELECT path FROM note WHERE note.tenant = :tenant AND note.space = :space AND note.reader IS NOT NULL
);

-- name: has_files
-- Whether there are files in a space.
SELECT EXISTS (SELECT 1 FROM note_file WHERE tenant = :tenant AND space = :space);

-- name: spaces
-- Where there are files.
SELECT DISTINCT space FROM note_file WHERE tenant = :tenant ORDER BY space;
