-- name: add_embedder
-- Give an embedder a number, if it has none.
INSERT INTO embedder (name) VALUES (:name) ON CONFLICT (name) DO NOTHING;

-- name: find_embedder
-- The number of an embedder.
SELECT number FROM embedder WHERE name = :name;

-- name: put_vector
-- Store the vector of a text.
INSERT INTO vector (embedder, sha256, body) VALUES (?, ?, ?)
ON CONFLICT (embedder, sha256) DO UPDATE SET body = excluded.body;

-- name: get_vectors
-- The vectors of some texts.
SELECT sha256, body FROM vector WHERE embedder = ? AND sha256 IN (/* hashes */);

-- name: have_vectors
-- Which of some texts have a vector.
SELECT sha256, '' FROM vector WHERE embedder = ? AND sha256 IN (/* hashes */);

-- name: count_vectors
-- How many vectors of an embedder there are.
SELECT count(*) FROM vector JOIN embedder ON embedder.number = vector.embedder WHERE embedder.name = :name;

-- name: begin_wanted
-- The hashes to keep, for the duration of a transaction.
CREATE TEMP TABLE wanted (sha256 BLOB NOT NULL PRIMARY KEY) WITHOUT ROWID;

-- name: add_wanted
-- A hash to keep.
INSERT OR IGNORE INTO temp.wanted (sha256) VALUES (?);

-- name: forget_unwanted
-- Remove the vectors of an embedder whose hashes are not kept.
DELETE FROM vector WHERE embedder = :number AND sha256 NOT IN (SELECT sha256 FROM temp.wanted);

-- name: remove_vector
-- Remove the vectors of a text.
DELETE FROM vector WHERE sha256 = ? AND embedder IN (SELECT number FROM embedder);

-- name: end_wanted
-- Clear the hashes to keep.
DROP TABLE temp.wanted;
