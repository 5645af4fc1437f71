-- name: get_meta
-- A property of the whole index.
SELECT value FROM meta WHERE name = :name;

-- name: set_meta
-- Set a property of the whole index.
INSERT INTO meta (name, value) VALUES (:name, :value) ON CONFLICT (name) DO UPDATE SET value = excluded.value;

-- name: use_folder
-- Add a folder, or change its label.
INSERT INTO folder (path, label) VALUES (:path, :label) ON CONFLICT (path) DO UPDATE SET label = excluded.label;

-- name: find_folder
-- The number of a folder.
SELECT id FROM folder WHERE path = :path AND label = :label;

-- name: folders
-- Every folder, and how many of its files are indexed; those that could not be read have a hash of zeros.
SELECT folder.path, folder.label, count(file.id)
FROM folder LEFT JOIN file ON file.folder = folder.id AND file.sha256 <> zeroblob(32)
GROUP BY folder.id ORDER BY folder.path;

-- name: drop_folder
-- Delete a folder, whose files are deleted already.
DELETE FROM folder WHERE path = :path;

-- name: files
-- The files of a folder.
SELECT file.path, size, modified, changed, inode, sha256, kind, date, tags
FROM file JOIN folder ON file.folder = folder.id WHERE folder.path = :folder;

-- name: revisions
-- The hash of every file.
SELECT folder.path, file.path, file.sha256 FROM file JOIN folder ON file.folder = folder.id;

-- name: file_at
-- A file of a folder, and those below its path if it was a folder.
SELECT file.path, size, modified, changed, inode, sha256, kind, date, tags
FROM file JOIN folder ON file.folder = folder.id
WHERE folder.path = :folder AND (file.path = :path OR (file.path > :path || '/' AND file.path < :path || '0'));

-- name: some_files
-- Any files of a folder, up to a limit.
SELECT 1 FROM file JOIN folder ON file.folder = folder.id WHERE folder.path = :folder LIMIT :limit;

-- name: select_files
-- The numbers, folders and paths of the files that pass filters.
SELECT file.id, folder.path, file.path FROM file JOIN folder ON file.folder = folder.id
WHERE (:kinds IS NULL OR file.kind IN (SELECT value FROM json_each(:kinds)))
AND (:labels IS NULL OR folder.label IN (SELECT value FROM json_each(:labels)))
AND (:folders IS NULL OR folder.path IN (SELECT value FROM json_each(:folders)))
AND (:since IS NULL OR file.date >= :since) AND (:until IS NULL OR file.date < :until)
AND (:tags IS NULL OR EXISTS (
    SELECT 1 FROM json_each(:tags) WHERE instr(file.tags, char(10) || value || char(10))
    OR instr(file.tags, char(10) || value || '/')
));

-- name: find_file
-- The number of a file.
SELECT id FROM file WHERE folder = :folder AND path = :path;

-- name: add_file
-- Add a file, if it is not there.
INSERT INTO file (folder, path, name, size, modified, changed, inode, sha256, kind, date, tags, chunks, conversations)
VALUES (:folder, :path, :name, :size, :modified, :changed, :inode, :sha256, :kind, :date, :tags, coalesce(:chunks, 0),
coalesce(:conversations, 0))
ON CONFLICT (folder, path) DO NOTHING
RETURNING id;

-- name: change_file
-- Update a file; without numbers of chunks and conversations, it keeps those that it has.
UPDATE file SET size = :size, modified = :modified, changed = :changed, inode = :inode, sha256 = :sha256, kind = :kind,
date = :date, tags = :tags, chunks = coalesce(:chunks, chunks), conversations = coalesce(:conversations, conversations)
WHERE folder = :folder AND path = :path RETURNING id;

-- name: move_file
-- Rename a file.
UPDATE file SET path = :path, name = :name WHERE id = :id;

-- name: drop_file
-- Delete a file, whose chunks and text are deleted already.
DELETE FROM file WHERE id = :id;

-- name: put_content
-- Store the text of a file.
INSERT INTO content (file, text) VALUES (:file, :text) ON CONFLICT (file) DO UPDATE SET text = excluded.text;

-- name: drop_content
-- Delete the text of a file.
DELETE FROM content WHERE file = :id;

-- name: get_content
-- The text of a file.
SELECT text FROM content WHERE file = :file;

-- name: get_contents
-- The texts of some files.
SELECT file, text FROM content WHERE file IN (SELECT value FROM json_each(:files));

-- name: chunks_of
-- The chunks of a file with their hashes and fields, in order.
SELECT id, start_line, end_line, sha256, own, names, date, days FROM chunk WHERE file = :file ORDER BY start_line;

-- name: chunks_in
-- The chunks of a file as they were put, in order.
SELECT start_line, end_line, heading, own, names, date, days, id FROM chunk WHERE file = :file ORDER BY start_line, id;

-- name: add_chunk
-- Add a chunk.
INSERT INTO chunk (id, file, start_line, end_line, heading, sha256, own, names, date, language, days)
VALUES (:id, :file, :start_line, :end_line, :heading, :sha256, :own, :names, :date, :language, :days);

-- name: add_day
-- Let a day find a chunk.
INSERT INTO day (day, chunk) VALUES (:day, :chunk);

-- name: drop_days
-- Let no day find a chunk.
DELETE FROM day WHERE chunk = :chunk;

-- name: chunks_of_days
-- Chunks that are of some days by what their files say, the last first, each with its file.
SELECT chunk.id, chunk.file FROM day JOIN chunk ON chunk.id = day.chunk
WHERE day.day >= :first AND day.day < :until
AND (:files IS NULL OR chunk.file IN (SELECT value FROM json_each(:files)))
ORDER BY day.day DESC, day.chunk LIMIT :limit;

-- name: changed_chunks
-- Chunks of files that changed last on some days and say nothing of any, the last first, each with its file.
SELECT chunk.id, chunk.file FROM file JOIN chunk ON chunk.file = file.id
WHERE file.date >= :since AND file.date < :end AND chunk.days = ''
AND (:files IS NULL OR file.id IN (SELECT value FROM json_each(:files)))
ORDER BY file.date DESC, file.id, chunk.id LIMIT :limit;

-- name: shift_chunk
-- Update the lines of a chunk.
UPDATE chunk SET start_line = :start_line, end_line = :end_line WHERE id = :id;

-- name: drop_chunk
-- Delete a chunk.
DELETE FROM chunk WHERE id = :chunk;

-- name: add_link
-- Add a link of a chunk.
INSERT INTO link (id, chunk, target, name, text) VALUES (:id, :chunk, :target, :name, :text);

-- name: add_link_text
-- Index the text of a link.
INSERT INTO link_text (rowid, text) VALUES (:id, :text);

-- name: last_link
-- The highest number of a link.
SELECT coalesce(max(id), 0) FROM link;

-- name: some_link
-- Any link.
SELECT 1 FROM link LIMIT 1;

-- name: links_in
-- The links of the chunks of a file, in the order in which they were put.
SELECT chunk.id, target, text FROM link JOIN chunk ON link.chunk = chunk.id WHERE chunk.file = :file ORDER BY link.id;

-- name: drop_link_texts
-- Remove the links of a chunk from the text index.
DELETE FROM link_text WHERE rowid IN (SELECT id FROM link WHERE chunk = :chunk);

-- name: drop_links
-- Delete the links of a chunk.
DELETE FROM link WHERE chunk = :chunk;

-- name: linked
-- The links that a query finds, the best first, each with its file and the files that have the name of its target.
SELECT link.id, link.text, link.target, source.path, target.id, target.path
FROM (SELECT rowid, rank FROM link_text WHERE link_text MATCH :query ORDER BY rank, rowid LIMIT :limit) AS best
JOIN link ON link.id = best.rowid
JOIN chunk ON chunk.id = link.chunk JOIN file AS source ON source.id = chunk.file
JOIN file AS target ON target.name = link.name AND target.folder = source.folder AND target.id <> source.id;

-- name: first_chunks
-- The first chunk of each of some files.
SELECT file, id, min(start_line) FROM chunk WHERE file IN (SELECT value FROM json_each(:files)) GROUP BY file;

-- name: add_pending
-- Mark a chunk as pending: the full-text index must get it again, or delete it.
INSERT OR IGNORE INTO pending (chunk) VALUES (:chunk);

-- name: pending
-- The chunks that are pending, besides new ones.
SELECT chunk FROM pending;

-- name: clear_pending
-- Clear the pending chunks: the full-text index has committed all changes.
DELETE FROM pending;

-- name: new_chunks
-- The numbers of chunks above a number.
SELECT id FROM chunk WHERE id > :written;

-- name: document
-- A chunk for the full-text index.
SELECT file.id, file.path, chunk.start_line, chunk.end_line, chunk.heading, chunk.own, chunk.names, chunk.date, chunk.days
FROM chunk JOIN file ON chunk.file = file.id WHERE chunk.id = :chunk;

-- name: chunks
-- Chunks with their files.
SELECT chunk.id, folder.path, file.path, file.kind, file.date, chunk.sha256, file.id,
chunk.start_line, chunk.end_line, chunk.heading, chunk.own, chunk.names, chunk.date, chunk.days
FROM json_each(:numbers) AS wanted JOIN chunk ON chunk.id = wanted.value JOIN file ON chunk.file = file.id
JOIN folder ON file.folder = folder.id;

-- name: traits
-- The files of chunks, their first lines and dates, what these files have, whether they are code, hashes and languages.
SELECT chunk.id, chunk.file, chunk.start_line, file.chunks, file.conversations, chunk.date, file.date, chunk.days,
file.kind = 'code', chunk.sha256, chunk.language
FROM json_each(:numbers) AS wanted JOIN chunk ON chunk.id = wanted.value JOIN file ON chunk.file = file.id;

-- name: conversations_of
-- The conversations in files: where each begins, and the chunk that holds what is said in it.
SELECT file, start_line, id FROM chunk
WHERE own IS NOT '' AND file IN (SELECT value FROM json_each(:files)) ORDER BY file, start_line;

-- name: add_conversation
-- Add what people say in a conversation.
INSERT INTO conversation (rowid, said) VALUES (:chunk, :said);

-- name: drop_conversation
-- Delete a conversation.
DELETE FROM conversation WHERE rowid = :chunk;

-- name: some_conversation
-- Any conversation.
SELECT 1 FROM conversation LIMIT 1;

-- name: spoken
-- The conversations that a query finds, the best first.
SELECT rowid, rank FROM conversation WHERE conversation MATCH :query ORDER BY rank, rowid LIMIT :limit;

-- name: hashes
-- The hashes of some chunks.
SELECT chunk.id, sha256 FROM json_each(:numbers) AS wanted JOIN chunk ON chunk.id = wanted.value;

-- name: all_hashes
-- The hashes of all chunks.
SELECT DISTINCT sha256 FROM chunk;

-- name: highest
-- The highest number that a chunk may have had: numbers of deleted chunks stay pending until that is committed.
SELECT max(coalesce((SELECT max(id) FROM chunk), 0), coalesce((SELECT max(chunk) FROM pending), 0));

-- name: chunks_of_files
-- The chunks of some files.
SELECT id FROM chunk WHERE file IN (SELECT value FROM json_each(:files));

-- name: unembedded
-- Some chunks that lack a vector: those of some paths first, then those of the files that changed last.
-- The numbers are found in the index of the table alone; only the chunks that are returned are read.
WITH lacking AS (
    SELECT chunk.id AS number, file.path AS path,
        row_number() OVER (ORDER BY file.path NOT IN (SELECT value FROM json_each(:first)), file.modified DESC,
            file.id, chunk.id) AS place
    FROM file JOIN chunk ON chunk.file = file.id
    WHERE chunk.id > :above AND chunk.id NOT IN (SELECT chunk FROM embedded)
    ORDER BY place LIMIT :limit
)
SELECT chunk.id, lacking.path, chunk.file, start_line, end_line, heading, sha256
FROM lacking JOIN chunk ON chunk.id = lacking.number ORDER BY lacking.place;

-- name: lacking_vectors
-- Some chunks above a number that lack a vector, in order, by their hashes.
SELECT id, sha256 FROM chunk WHERE id > :above AND id NOT IN (SELECT chunk FROM embedded) ORDER BY id LIMIT :limit;

-- name: add_embedded
-- A chunk needs no vector any more.
INSERT OR IGNORE INTO embedded (chunk) VALUES (:chunk);

-- name: forget_embedded
-- All chunks up to a number need no vector any more.
DELETE FROM embedded WHERE chunk <= :above;

-- name: clear_embedded
-- Every chunk needs a vector.
DELETE FROM embedded;

-- name: last_chunk
-- The highest number of a chunk that is there.
SELECT coalesce(max(id), 0) FROM chunk;

-- name: languages
-- How many chunks there are in each language, the most first.
SELECT language, count(*) AS chunks FROM chunk WHERE language <> '' GROUP BY language ORDER BY chunks DESC, language;

-- name: counts
-- How many files and chunks there are, and how many chunks lack a vector.
SELECT
    (SELECT count(*) FROM file WHERE sha256 <> zeroblob(32)),
    (SELECT count(*) FROM chunk),
    (SELECT count(*) FROM chunk WHERE id > :above AND id NOT IN (SELECT chunk FROM embedded));
