-- name: find_owner
-- The number of an owner.
SELECT owner FROM owner WHERE tenant = :tenant AND kind = :kind AND name = :name AND agent = :agent;

-- name: owners
-- Every owner.
SELECT kind, name, agent FROM owner WHERE tenant = :tenant ORDER BY owner;

-- name: count_owner
-- Count up the owners, and return the number for a new one.
UPDATE tenant SET owners = owners + 1 WHERE tenant = :tenant RETURNING owners;

-- name: add_owner
-- Give an owner a number.
INSERT INTO owner (tenant, owner, kind, name, agent, counter) VALUES (:tenant, :owner, :kind, :name, :agent, 0);

-- name: count
-- Count up what an owner has been given numbers for, and return the last.
UPDATE owner SET counter = counter + :size WHERE tenant = :tenant AND owner = :owner RETURNING counter;
