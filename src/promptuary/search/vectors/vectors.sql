-- name: add_embedder
-- Give an embedder a number, if it has none.
INSERT INTO embedder (tenant, embedder, name)
SELECT :tenant, 1 + coalesce(max(embedder), 0), :name FROM embedder WHERE tenant = :tenant
ON CONFLICT (tenant, name) DO NOTHING;

-- name: find_embedder
-- The number of an embedder.
SELECT embedder FROM embedder WHERE tenant = :tenant AND name = :name;

-- name: put_vector
-- Store the vector of a text.
INSERT INTO vector (tenant, owner, embedder, sha256, body) VALUES (:tenant, :owner, :embedder, :sha256, :body)
ON CONFLICT (tenant, owner, embedder, sha256) DO UPDATE SET body = excluded.body;

-- name: get_vector
-- The vector of a text.
SELECT body FROM vector WHERE tenant = :tenant AND owner = :owner AND embedder = :embedder AND sha256 = :sha256;

-- name: count_vectors
-- How many vectors of an embedder there are.
SELECT count(*) FROM vector WHERE tenant = :tenant AND owner = :owner AND embedder = :embedder;

-- name: hashes
-- The texts that have a vector of an embedder.
SELECT sha256 FROM vector WHERE tenant = :tenant AND owner = :owner AND embedder = :embedder;

-- name: drop_vector
-- Remove the vector of a text.
DELETE FROM vector WHERE tenant = :tenant AND owner = :owner AND embedder = :embedder AND sha256 = :sha256;

-- name: embedders
-- The numbers of all embedders.
SELECT embedder FROM embedder WHERE tenant = :tenant;

-- name: owners
-- The numbers of all owners.
SELECT owner FROM owner WHERE tenant = :tenant;
