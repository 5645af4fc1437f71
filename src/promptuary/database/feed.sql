-- name: last
-- The last change of a list.
SELECT seq, id, at FROM change WHERE tenant = :tenant AND owner = :owner ORDER BY seq DESC LIMIT 1;

-- name: news
-- The changes in the lists of an owner and of everybody from one on, or the last ones; the oldest of a list first.
SELECT own.* FROM (
    SELECT owner, seq, id, at, noun, place FROM change
    WHERE tenant = :tenant AND owner = :owner AND seq >= coalesce(
        CAST(:own AS BIGINT), (SELECT max(seq) FROM change WHERE tenant = :tenant AND owner = :owner)
    )
    ORDER BY seq LIMIT :limit
) AS own
UNION ALL
SELECT everybodys.* FROM (
    SELECT owner, seq, id, at, noun, place FROM change
    WHERE tenant = :tenant AND owner = :everybody AND seq >= coalesce(
        CAST(:everybodys AS BIGINT), (SELECT max(seq) FROM change WHERE tenant = :tenant AND owner = :everybody)
    )
    ORDER BY seq LIMIT :limit
) AS everybodys;
