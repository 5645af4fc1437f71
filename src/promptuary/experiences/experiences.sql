-- name: put_experience
-- Store an experience; one with the same id is replaced in place.
INSERT INTO experience (
    tenant, owner, experience, type, outcome, tags, fingerprint, topic, rev, last_used_at, base_weight, half_life_days,
    body, checksum
) VALUES (
    :tenant, :owner, :experience, :type, :outcome, :tags, :fingerprint, :topic, :rev, :last_used_at, :base_weight,
    :half_life_days, :body, :checksum
)
ON CONFLICT (tenant, owner, experience) DO UPDATE SET
    tags = excluded.tags, rev = excluded.rev, last_used_at = excluded.last_used_at, base_weight = excluded.base_weight,
    half_life_days = excluded.half_life_days, body = excluded.body, checksum = excluded.checksum;

-- name: experience
-- One experience.
SELECT experience, body, checksum FROM experience
WHERE tenant = :tenant AND owner = :owner AND experience = :experience;

-- name: same_experience
-- The experience with a fingerprint.
SELECT experience, body, checksum FROM experience
WHERE tenant = :tenant AND owner = :owner AND fingerprint = :fingerprint;

-- name: rivals
-- The experiences that a preference contradicts: those with its topic and another fingerprint.
SELECT experience, body, checksum FROM experience
WHERE tenant = :tenant AND owner = :owner AND topic = :topic AND topic <> '' AND fingerprint <> :fingerprint;

-- name: some_experiences
-- The experiences with some ids, which are JSON.
SELECT experience, body, checksum FROM experience
WHERE tenant = :tenant AND owner = :owner AND experience IN (SELECT value FROM json_each(:ids));

-- name: beginning
-- Ids that begin with a text.
SELECT experience FROM experience
WHERE tenant = :tenant AND owner = :owner
    AND experience >= :prefix AND substr(experience, 1, length(:prefix)) = :prefix
ORDER BY experience
LIMIT :limit;

-- name: experiences
-- The experiences that match a filter, the most recently used first. `types`, `outcomes` and `tags` are JSON.
SELECT experience, body, checksum FROM experience
WHERE tenant = :tenant AND owner = :owner
    AND (:types = '[]' OR type IN (SELECT value FROM json_each(:types)))
    AND (:outcomes = '[]' OR outcome IN (SELECT value FROM json_each(:outcomes)))
    AND (
        :tags = '[]'
        OR NOT EXISTS (
            SELECT 1 FROM json_each(:tags) AS wanted WHERE wanted.value NOT IN (SELECT value FROM json_each(tags))
        )
    )
ORDER BY last_used_at DESC, experience
LIMIT :limit;

-- name: count_experiences
-- How many experiences match a filter.
SELECT count(*) FROM experience
WHERE tenant = :tenant AND owner = :owner
    AND (:types = '[]' OR type IN (SELECT value FROM json_each(:types)))
    AND (:outcomes = '[]' OR outcome IN (SELECT value FROM json_each(:outcomes)))
    AND (
        :tags = '[]'
        OR NOT EXISTS (
            SELECT 1 FROM json_each(:tags) AS wanted WHERE wanted.value NOT IN (SELECT value FROM json_each(tags))
        )
    );

-- name: revisions
-- The revision of every experience, and how strong it is.
SELECT experience, rev, base_weight, last_used_at, half_life_days FROM experience
WHERE tenant = :tenant AND owner = :owner;

-- name: remove_experience
-- Remove an experience.
DELETE FROM experience WHERE tenant = :tenant AND owner = :owner AND experience = :experience;
