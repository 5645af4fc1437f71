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

-- name: get_vectors
-- The vectors of some texts.
SELECT sha256, body FROM vector WHERE embedder = ? AND sha256 IN (/* hashes */);

-- name: have_vectors
-- Which of some texts have a vector.
SELECT sha256, '' FROM vector WHERE embedder = ? AND sha256 IN (/* hashes */);

-- name: count_vectors
-- How many vectors of an embedder there are.
SELECT count(*) FROM vector JOIN embedder ON embedder.number = vector.embedder WHERE embedder.name = :name;

-- name: forget_other_vectors
-- Remove the vectors of every other embedder.
DELETE FROM vector WHERE embedder IN (SELECT number FROM embedder WHERE name <> :name);

-- name: forget_other_embedders
-- Remove every other embedder.
DELETE FROM embedder WHERE name <> :name;
