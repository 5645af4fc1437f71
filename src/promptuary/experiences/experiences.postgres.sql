-- name: some_experiences
-- The experiences with some ids, which are JSON.
SELECT experience, body, checksum FROM experience
WHERE tenant = :tenant AND owner = :owner AND experience IN (SELECT json_array_elements_text(:ids::json));

-- name: experiences
-- The experiences that match a filter, the most recently used first. A tag is compared as it is written in JSON.
SELECT experience, body, checksum FROM experience
WHERE tenant = :tenant AND owner = :owner
    AND (:types = '[]' OR type IN (SELECT json_array_elements_text(:types::json)))
    AND (:outcomes = '[]' OR outcome IN (SELECT json_array_elements_text(:outcomes::json)))
    AND (
        :tags = '[]'
        OR NOT EXISTS (
            SELECT 1 FROM json_array_elements(:tags::json) AS wanted
            WHERE wanted.value::text NOT IN (SELECT had.value::text FROM json_array_elements(tags::json) AS had)
        )
    )
ORDER BY last_used_at DESC, experience
LIMIT :limit;

-- name: count_experiences
-- How many experiences match a filter.
SELECT count(*) FROM experience
WHERE tenant = :tenant AND owner = :owner
    AND (:types = '[]' OR type IN (SELECT json_array_elements_text(:types::json)))
    AND (:outcomes = '[]' OR outcome IN (SELECT json_array_elements_text(:outcomes::json)))
    AND (
        :tags = '[]'
        OR NOT EXISTS (
            SELECT 1 FROM json_array_elements(:tags::json) AS wanted
            WHERE wanted.value::text NOT IN (SELECT had.value::text FROM json_array_elements(tags::json) AS had)
        )
    );
