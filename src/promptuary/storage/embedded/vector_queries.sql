-- name: add_embedder
-- Give an embedder a number, if it has none.
INSERT INTO embedder (name) VALUES (:name) ON CONFLICT (name) DO NOTHING;

-- name: find_embedder
-- The number of an embedder.
SELECT number FROM embedder WHERE name = :name;

-- name: put_vector
-- Keep the vector of a text.
INSERT INTO vector (embedder, sha256, body) VALUES (?, ?, ?)
ON CONFLICT (embedder, sha256) DO UPDATE SET body = excluded.body;

-- name: get_vector
-- The vector of a text.
SELECT body FROM vector WHERE embedder = ? AND sha256 = ?;

-- name: has_vector
-- Whether there is a vector of a text.
SELECT 1 FROM vector WHERE embedder = ? AND sha256 = ?;

-- name: count_vectors
-- How many vectors of an embedder there are.
SELECT count(*) FROM vector JOIN embedder ON embedder.number = vector.embedder WHERE embedder.name = :name;

-- name: forget_other_vectors
-- Remove the vectors of every other embedder.
DELETE FROM vector WHERE embedder IN (SELECT number FROM embedder WHERE name <> :name);

-- name: forget_other_embedders
-- Remove every other embedder.
DELETE FROM embedder WHERE name <> :name;
