-- name: get_meta
-- A property of the whole index.
SELECT value FROM index_meta
WHERE tenant = :tenant AND owner = :owner AND generation = :generation AND name = :name;

-- name: set_meta
-- Set a property of the whole index.
INSERT INTO index_meta (tenant, owner, generation, name, value)
VALUES (:tenant, :owner, :generation, :name, :value)
ON CONFLICT (tenant, owner, generation, name) DO UPDATE SET value = excluded.value;

-- name: use_folder
-- Add a folder, or change its label.
INSERT INTO index_folder (tenant, owner, generation, id, path, label)
SELECT :tenant, :owner, :generation, coalesce(max(id), 0) + 1, :path, :label
FROM index_folder WHERE tenant = :tenant AND owner = :owner AND generation = :generation
ON CONFLICT (tenant, owner, generation, path) DO UPDATE SET label = excluded.label;

-- name: find_folder
-- The number of a folder.
SELECT id FROM index_folder
WHERE tenant = :tenant AND owner = :owner AND generation = :generation AND path = :path AND label = :label;

-- name: folders
-- Every folder, and how many of its files are indexed; those that could not be read have a hash of zeros.
SELECT folder.path, folder.label, count(file.id)
FROM index_folder AS folder LEFT JOIN index_file AS file
ON file.tenant = :tenant AND file.owner = :owner AND file.generation = :generation AND file.folder = folder.id
AND file.sha256 <> decode(repeat('00', 32), 'hex')
WHERE folder.tenant = :tenant AND folder.owner = :owner AND folder.generation = :generation
GROUP BY folder.path, folder.label ORDER BY folder.path;

-- name: drop_folder
-- Delete a folder, whose files are deleted already.
DELETE FROM index_folder
WHERE tenant = :tenant AND owner = :owner AND generation = :generation AND path = :path;

-- name: files
-- The files of a folder.
SELECT file.path, size, modified, changed, inode, sha256, kind, date, tags
FROM index_file AS file JOIN index_folder AS folder
ON folder.tenant = :tenant AND folder.owner = :owner AND folder.generation = :generation AND file.folder = folder.id
WHERE file.tenant = :tenant AND file.owner = :owner AND file.generation = :generation AND folder.path = :folder;

-- name: revisions
-- The hash of every file.
SELECT folder.path, file.path, file.sha256
FROM index_file AS file JOIN index_folder AS folder
ON folder.tenant = :tenant AND folder.owner = :owner AND folder.generation = :generation AND file.folder = folder.id
WHERE file.tenant = :tenant AND file.owner = :owner AND file.generation = :generation;

-- name: file_at
-- A file of a folder, and those below its path if it was a folder.
SELECT file.path, size, modified, changed, inode, sha256, kind, date, tags
FROM index_file AS file JOIN index_folder AS folder
ON folder.tenant = :tenant AND folder.owner = :owner AND folder.generation = :generation AND file.folder = folder.id
WHERE file.tenant = :tenant AND file.owner = :owner AND file.generation = :generation AND folder.path = :folder
AND (file.path = :path OR (file.path > :path || '/' AND file.path < :path || '0'));

-- name: some_files
-- Any files of a folder, up to a limit.
SELECT 1
FROM index_file AS file JOIN index_folder AS folder
ON folder.tenant = :tenant AND folder.owner = :owner AND folder.generation = :generation AND file.folder = folder.id
WHERE file.tenant = :tenant AND file.owner = :owner AND file.generation = :generation AND folder.path = :folder
LIMIT :limit;

-- name: select_files
-- The numbers, folders and paths of the files that pass filters.
SELECT file.id, folder.path, file.path
FROM index_file AS file JOIN index_folder AS folder
ON folder.tenant = :tenant AND folder.owner = :owner AND folder.generation = :generation AND file.folder = folder.id
WHERE file.tenant = :tenant AND file.owner = :owner AND file.generation = :generation
AND (:kinds::text IS NULL OR file.kind IN (SELECT json_array_elements_text(:kinds::json)))
AND (:labels::text IS NULL OR folder.label IN (SELECT json_array_elements_text(:labels::json)))
AND (:folders::text IS NULL OR folder.path IN (SELECT json_array_elements_text(:folders::json)))
AND (:since::bigint IS NULL OR file.date >= :since) AND (:until::bigint IS NULL OR file.date < :until)
AND (:tags::text IS NULL OR EXISTS (
    SELECT 1 FROM json_array_elements_text(:tags::json) AS wanted (tag)
    WHERE strpos(file.tags, chr(10) || tag || chr(10)) > 0 OR strpos(file.tags, chr(10) || tag || '/') > 0
));

-- name: find_file
-- The number of a file.
SELECT id FROM index_file
WHERE tenant = :tenant AND owner = :owner AND generation = :generation AND folder = :folder::bigint AND path = :path;

-- name: add_file
-- Add a file, if it is not there, with the next number of this generation.
WITH counted AS (
    UPDATE index_generation SET files = files + 1
    WHERE tenant = :tenant AND owner = :owner AND generation = :generation
    AND NOT EXISTS (
        SELECT 1 FROM index_file
        WHERE tenant = :tenant AND owner = :owner AND generation = :generation AND folder = :folder AND path = :path
    )
    RETURNING files
)
INSERT INTO index_file (tenant, owner, generation, id, folder, path, name, size, modified, changed, inode, sha256, kind,
date, tags, chunks, conversations)
SELECT :tenant, :owner, :generation, files, :folder, :path, :name, :size, :modified, :changed, :inode, :sha256, :kind,
:date, :tags, coalesce(:chunks::bigint, 0), coalesce(:conversations::bigint, 0)
FROM counted
ON CONFLICT (tenant, owner, generation, folder, path) DO NOTHING
RETURNING id;

-- name: change_file
-- Update a file; without numbers of chunks and conversations, it keeps those that it has.
UPDATE index_file SET size = :size, modified = :modified, changed = :changed, inode = :inode, sha256 = :sha256,
kind = :kind, date = :date, tags = :tags, chunks = coalesce(:chunks::bigint, chunks),
conversations = coalesce(:conversations::bigint, conversations)
WHERE tenant = :tenant AND owner = :owner AND generation = :generation AND folder = :folder AND path = :path
RETURNING id;

-- name: move_file
-- Rename a file.
UPDATE index_file SET path = :path, name = :name
WHERE tenant = :tenant AND owner = :owner AND generation = :generation AND id = :id;

-- name: drop_file
-- Delete a file, whose chunks and text are deleted already.
DELETE FROM index_file WHERE tenant = :tenant AND owner = :owner AND generation = :generation AND id = :id;

-- name: put_content
-- Store the text of a file.
INSERT INTO index_content (tenant, owner, generation, file, text)
VALUES (:tenant, :owner, :generation, :file, :text)
ON CONFLICT (tenant, owner, generation, file) DO UPDATE SET text = excluded.text;

-- name: drop_content
-- Delete the text of a file.
DELETE FROM index_content WHERE tenant = :tenant AND owner = :owner AND generation = :generation AND file = :id;

-- name: get_content
-- The text of a file.
SELECT text FROM index_content
WHERE tenant = :tenant AND owner = :owner AND generation = :generation AND file = :file;

-- name: get_contents
-- The texts of some files.
SELECT file, text FROM index_content
WHERE tenant = :tenant AND owner = :owner AND generation = :generation
AND file IN (SELECT json_array_elements_text(:files::json)::bigint);

-- name: chunks_of
-- The chunks of a file with their hashes and fields, in order.
SELECT id, start_line, end_line, sha256, own, names, date, days FROM index_chunk
WHERE tenant = :tenant AND owner = :owner AND generation = :generation AND file = :file ORDER BY start_line;

-- name: chunks_in
-- The chunks of a file as they were put, in order.
SELECT start_line, end_line, heading, own, names, date, days, id FROM index_chunk
WHERE tenant = :tenant AND owner = :owner AND generation = :generation AND file = :file ORDER BY start_line, id;

-- name: add_chunk
-- Add a chunk.
INSERT INTO index_chunk (tenant, owner, generation, id, file, start_line, end_line, heading, sha256, own, names, date,
language, days)
VALUES (:tenant, :owner, :generation, :id, :file, :start_line, :end_line, :heading, :sha256, :own, :names, :date,
:language, :days);

-- name: add_day
-- Let a day find a chunk.
INSERT INTO index_day (tenant, owner, generation, day, chunk) VALUES (:tenant, :owner, :generation, :day, :chunk);

-- name: drop_days
-- Let no day find a chunk.
DELETE FROM index_day WHERE tenant = :tenant AND owner = :owner AND generation = :generation AND chunk = :chunk;

-- name: chunks_of_days
-- Chunks that are of some days by what their files say, the last first, each with its file.
SELECT chunk.id, chunk.file
FROM index_day AS day JOIN index_chunk AS chunk
ON chunk.tenant = :tenant AND chunk.owner = :owner AND chunk.generation = :generation AND chunk.id = day.chunk
WHERE day.tenant = :tenant AND day.owner = :owner AND day.generation = :generation
AND day.day >= :first AND day.day < :until
AND (:files::text IS NULL OR chunk.file IN (SELECT json_array_elements_text(:files::json)::bigint))
ORDER BY day.day DESC, day.chunk LIMIT :limit;

-- name: changed_chunks
-- Chunks of files that changed last on some days and say nothing of any, the last first, each with its file.
SELECT chunk.id, chunk.file
FROM index_file AS file JOIN index_chunk AS chunk
ON chunk.tenant = :tenant AND chunk.owner = :owner AND chunk.generation = :generation AND chunk.file = file.id
WHERE file.tenant = :tenant AND file.owner = :owner AND file.generation = :generation
AND file.date >= :since AND file.date < :end AND chunk.days = ''
AND (:files::text IS NULL OR file.id IN (SELECT json_array_elements_text(:files::json)::bigint))
ORDER BY file.date DESC, file.id, chunk.id LIMIT :limit;

-- name: shift_chunk
-- Update the lines of a chunk.
UPDATE index_chunk SET start_line = :start_line, end_line = :end_line
WHERE tenant = :tenant AND owner = :owner AND generation = :generation AND id = :id;

-- name: drop_chunk
-- Delete a chunk.
DELETE FROM index_chunk WHERE tenant = :tenant AND owner = :owner AND generation = :generation AND id = :chunk;

-- name: add_link
-- Add a link of a chunk.
INSERT INTO index_link (tenant, owner, generation, id, chunk, target, name, text)
VALUES (:tenant, :owner, :generation, :id, :chunk, :target, :name, :text);

-- name: add_link_text
-- Nothing: the words of links are in the postings.

-- name: last_link
-- The highest number of a link.
SELECT coalesce(max(id), 0) FROM index_link
WHERE tenant = :tenant AND owner = :owner AND generation = :generation;

-- name: some_link
-- Any link.
SELECT 1 FROM index_link WHERE tenant = :tenant AND owner = :owner AND generation = :generation LIMIT 1;

-- name: links_in
-- The links of the chunks of a file, in the order in which they were put.
SELECT chunk.id, target, text
FROM index_link AS link JOIN index_chunk AS chunk
ON chunk.tenant = :tenant AND chunk.owner = :owner AND chunk.generation = :generation AND link.chunk = chunk.id
WHERE link.tenant = :tenant AND link.owner = :owner AND link.generation = :generation AND chunk.file = :file
ORDER BY link.id;

-- name: drop_link_texts
-- Nothing: the words of links are in the postings.

-- name: drop_links
-- Delete the links of a chunk.
DELETE FROM index_link WHERE tenant = :tenant AND owner = :owner AND generation = :generation AND chunk = :chunk;

-- name: linked
-- The links of some chunks, each with its file and the files that have the name of its target.
SELECT link.id, link.text, link.target, source.path, target.id, target.path
FROM json_array_elements_text(:chunks::json) AS best (chunk)
JOIN index_link AS link
ON link.tenant = :tenant AND link.owner = :owner AND link.generation = :generation AND link.chunk = best.chunk::bigint
JOIN index_chunk AS chunk
ON chunk.tenant = :tenant AND chunk.owner = :owner AND chunk.generation = :generation AND chunk.id = link.chunk
JOIN index_file AS source
ON source.tenant = :tenant AND source.owner = :owner AND source.generation = :generation AND source.id = chunk.file
JOIN index_file AS target
ON target.tenant = :tenant AND target.owner = :owner AND target.generation = :generation AND target.name = link.name
AND target.folder = source.folder AND target.id <> source.id;

-- name: first_chunks
-- The first chunk of each of some files.
SELECT DISTINCT ON (file) file, id, start_line FROM index_chunk
WHERE tenant = :tenant AND owner = :owner AND generation = :generation
AND file IN (SELECT json_array_elements_text(:files::json)::bigint)
ORDER BY file, start_line, id;

-- name: add_pending
-- Mark a chunk as pending: the full-text index must get it again, or delete it.
INSERT INTO index_pending (tenant, owner, generation, chunk) VALUES (:tenant, :owner, :generation, :chunk)
ON CONFLICT DO NOTHING;

-- name: pending
-- The chunks that are pending, besides new ones.
SELECT chunk FROM index_pending WHERE tenant = :tenant AND owner = :owner AND generation = :generation;

-- name: clear_pending
-- Clear the pending chunks: the full-text index has committed all changes.
DELETE FROM index_pending WHERE tenant = :tenant AND owner = :owner AND generation = :generation;

-- name: new_chunks
-- The numbers of chunks above a number.
SELECT id FROM index_chunk
WHERE tenant = :tenant AND owner = :owner AND generation = :generation AND id > :written;

-- name: document
-- A chunk for the full-text index.
SELECT file.id, file.path, chunk.start_line, chunk.end_line, chunk.heading, chunk.own, chunk.names, chunk.date,
chunk.days
FROM index_chunk AS chunk JOIN index_file AS file
ON file.tenant = :tenant AND file.owner = :owner AND file.generation = :generation AND chunk.file = file.id
WHERE chunk.tenant = :tenant AND chunk.owner = :owner AND chunk.generation = :generation AND chunk.id = :chunk;

-- name: chunks
-- Chunks with their files.
SELECT chunk.id, folder.path, file.path, file.kind, file.date, chunk.sha256, file.id,
chunk.start_line, chunk.end_line, chunk.heading, chunk.own, chunk.names, chunk.date, chunk.days
FROM json_array_elements_text(:numbers::json) AS wanted (id)
JOIN index_chunk AS chunk
ON chunk.tenant = :tenant AND chunk.owner = :owner AND chunk.generation = :generation AND chunk.id = wanted.id::bigint
JOIN index_file AS file
ON file.tenant = :tenant AND file.owner = :owner AND file.generation = :generation AND file.id = chunk.file
JOIN index_folder AS folder
ON folder.tenant = :tenant AND folder.owner = :owner AND folder.generation = :generation AND folder.id = file.folder;

-- name: traits
-- The files of chunks, their first lines and dates, what these files have, whether they are code, hashes and languages.
SELECT chunk.id, chunk.file, chunk.start_line, file.chunks, file.conversations, chunk.date, file.date, chunk.days,
file.kind = 'code', chunk.sha256, chunk.language
FROM json_array_elements_text(:numbers::json) AS wanted (id)
JOIN index_chunk AS chunk
ON chunk.tenant = :tenant AND chunk.owner = :owner AND chunk.generation = :generation AND chunk.id = wanted.id::bigint
JOIN index_file AS file
ON file.tenant = :tenant AND file.owner = :owner AND file.generation = :generation AND file.id = chunk.file;

-- name: conversations_of
-- The conversations in files: where each begins, and the chunk that holds what is said in it.
SELECT file, start_line, id FROM index_chunk
WHERE tenant = :tenant AND owner = :owner AND generation = :generation AND own IS DISTINCT FROM ''
AND file IN (SELECT json_array_elements_text(:files::json)::bigint) ORDER BY file, start_line;

-- name: add_conversation
-- Nothing: the words of conversations are in the postings.

-- name: drop_conversation
-- Nothing: the words of conversations are in the postings.

-- name: some_conversation
-- Any conversation.
SELECT 1 FROM index_file
WHERE tenant = :tenant AND owner = :owner AND generation = :generation AND conversations > 0 LIMIT 1;

-- name: hashes
-- The hashes of some chunks.
SELECT chunk.id, sha256
FROM json_array_elements_text(:numbers::json) AS wanted (id)
JOIN index_chunk AS chunk
ON chunk.tenant = :tenant AND chunk.owner = :owner AND chunk.generation = :generation AND chunk.id = wanted.id::bigint;

-- name: all_hashes
-- The hashes of all chunks.
SELECT DISTINCT sha256 FROM index_chunk WHERE tenant = :tenant AND owner = :owner AND generation = :generation;

-- name: highest
-- The highest number that a chunk may have had: numbers of deleted chunks stay pending until that is committed.
SELECT greatest(
    (SELECT coalesce(max(id), 0) FROM index_chunk
    WHERE tenant = :tenant AND owner = :owner AND generation = :generation),
    (SELECT coalesce(max(chunk), 0) FROM index_pending
    WHERE tenant = :tenant AND owner = :owner AND generation = :generation)
);

-- name: chunks_of_files
-- The chunks of some files.
SELECT id FROM index_chunk
WHERE tenant = :tenant AND owner = :owner AND generation = :generation
AND file IN (SELECT json_array_elements_text(:files::json)::bigint);

-- name: unembedded
-- Some chunks that lack a vector: those of some paths first, then those of the files that changed last.
SELECT chunk.id, file.path, chunk.file, start_line, end_line, heading, chunk.sha256
FROM index_file AS file JOIN index_chunk AS chunk
ON chunk.tenant = :tenant AND chunk.owner = :owner AND chunk.generation = :generation AND chunk.file = file.id
WHERE file.tenant = :tenant AND file.owner = :owner AND file.generation = :generation AND chunk.id > :above
AND NOT EXISTS (
    SELECT 1 FROM index_embedded AS done
    WHERE done.tenant = :tenant AND done.owner = :owner AND done.generation = :generation AND done.chunk = chunk.id
)
ORDER BY file.path NOT IN (SELECT json_array_elements_text(:first::json)), file.modified DESC, file.id, chunk.id
LIMIT :limit;

-- name: lacking_vectors
-- Some chunks above a number that lack a vector, in order, by their hashes.
SELECT id, sha256 FROM index_chunk AS chunk
WHERE tenant = :tenant AND owner = :owner AND generation = :generation AND id > :above
AND NOT EXISTS (
    SELECT 1 FROM index_embedded AS done
    WHERE done.tenant = :tenant AND done.owner = :owner AND done.generation = :generation AND done.chunk = chunk.id
)
ORDER BY id LIMIT :limit;

-- name: add_embedded
-- A chunk needs no vector any more.
INSERT INTO index_embedded (tenant, owner, generation, chunk) VALUES (:tenant, :owner, :generation, :chunk)
ON CONFLICT DO NOTHING;

-- name: forget_embedded
-- All chunks up to a number need no vector any more.
DELETE FROM index_embedded
WHERE tenant = :tenant AND owner = :owner AND generation = :generation AND chunk <= :above;

-- name: clear_embedded
-- Every chunk needs a vector.
DELETE FROM index_embedded WHERE tenant = :tenant AND owner = :owner AND generation = :generation;

-- name: last_chunk
-- The highest number of a chunk that is there.
SELECT coalesce(max(id), 0) FROM index_chunk WHERE tenant = :tenant AND owner = :owner AND generation = :generation;

-- name: languages
-- How many chunks there are in each language, the most first.
SELECT language, count(*) AS chunks FROM index_chunk
WHERE tenant = :tenant AND owner = :owner AND generation = :generation AND language <> ''
GROUP BY language ORDER BY chunks DESC, language;

-- name: counts
-- How many files and chunks there are, and how many chunks lack a vector.
SELECT
    (SELECT count(*) FROM index_file
    WHERE tenant = :tenant AND owner = :owner AND generation = :generation
    AND sha256 <> decode(repeat('00', 32), 'hex')),
    (SELECT count(*) FROM index_chunk WHERE tenant = :tenant AND owner = :owner AND generation = :generation),
    (SELECT count(*) FROM index_chunk AS chunk
    WHERE tenant = :tenant AND owner = :owner AND generation = :generation AND id > :above
    AND NOT EXISTS (
        SELECT 1 FROM index_embedded AS done
        WHERE done.tenant = :tenant AND done.owner = :owner AND done.generation = :generation AND done.chunk = chunk.id
    ));
