-- name: changes
-- The changes of a list after one, the oldest first: of what is shared, only what is in some spaces.
SELECT change.seq, noun, change.id, event, at, actor, place, thread.name, turn.number
FROM change
LEFT JOIN turn ON noun = 'turn' AND turn.tenant = change.tenant AND turn.owner = change.owner AND turn.id = change.id
LEFT JOIN thread ON thread.tenant = turn.tenant AND thread.owner = turn.owner AND thread.thread = turn.thread
WHERE change.tenant = :tenant AND change.owner = :owner AND change.seq > :after
    AND noun IN ('turn', 'note', 'proposal')
    AND (change.owner <> 0 OR replace(:places, '|' || place || '|', '') <> :places)
ORDER BY change.seq
LIMIT :limit;

-- name: change
-- What a mark is the checksum of.
SELECT id, at FROM change WHERE tenant = :tenant AND owner = :owner AND seq = :seq;

-- name: first
-- The number of the oldest change of a list that is kept; 0 if there is none.
SELECT coalesce(min(seq), 0) FROM change WHERE tenant = :tenant AND owner = :owner;
