-- name: find_source
-- The number of a source of an owner.
SELECT source FROM source WHERE tenant = :tenant AND owner = :owner AND address = :address;

-- name: add_source
-- Give a source a number.
INSERT INTO source (tenant, owner, source, address) VALUES (:tenant, :owner, :number, :address);

-- name: addresses
-- The sources of an owner, the newest first.
SELECT address FROM source WHERE tenant = :tenant AND owner = :owner ORDER BY source DESC LIMIT :limit;

-- name: find_part
-- The number of a source, and that of a part of it, if there is one.
SELECT source.source, part
FROM source
LEFT JOIN source_part ON source_part.tenant = source.tenant AND source_part.owner = source.owner
    AND source_part.source = source.source AND layer = :layer AND revision = :revision AND first = :first
    AND last = :last
WHERE source.tenant = :tenant AND source.owner = :owner AND address = :address;

-- name: add_part
-- Give a part of a source a number.
INSERT INTO source_part (tenant, owner, part, source, layer, revision, first, last)
VALUES (:tenant, :owner, :number, :source, :layer, :revision, :first, :last);

-- name: parts_of_turn
-- The sources in the prompt of a turn itself.
SELECT part FROM turn_source WHERE tenant = :tenant AND owner = :owner AND turn = :turn;

-- name: add_turn_source
-- Record a source in the prompt of a turn.
INSERT INTO turn_source (tenant, owner, source, turn, part, thread)
VALUES (:tenant, :owner, :source, :turn, :part, :thread)
ON CONFLICT (tenant, owner, source, turn, part) DO NOTHING;

-- name: drop_turn_sources
-- Delete the recorded sources of a turn.
DELETE FROM turn_source WHERE tenant = :tenant AND owner = :owner AND turn = :turn;

-- name: add_item_source
-- Record a source that an item brings into prompts.
INSERT INTO item_source (tenant, owner, item, part, how, source)
VALUES (:tenant, :owner, :item, :part, :how, :source)
ON CONFLICT (tenant, owner, item, part, how) DO NOTHING;

-- name: mark_item
-- Record that an item brings sources into prompts.
UPDATE item SET sourced = 1 WHERE tenant = :tenant AND owner = :owner AND thread = :thread AND item = :item;

-- name: sources_of_item
-- The sources that an item brings into prompts.
SELECT item_source.how, address, layer, revision, first, last
FROM item
JOIN item_source ON item_source.tenant = item.tenant AND item_source.owner = item.owner AND item_source.item = item.item
JOIN source_part ON source_part.tenant = item.tenant AND source_part.owner = item.owner AND source_part.part = item_source.part
JOIN source ON source.tenant = item.tenant AND source.owner = item.owner AND source.source = source_part.source
WHERE item.tenant = :tenant AND item.owner = :owner AND item.id = :id AND item.thread = :thread
ORDER BY item_source.part;

-- name: standing_sources
-- The sources that the items in the history of a thread bring into prompts, with the text of each item. The items come
-- first, whatever a planner thinks of the other table.
SELECT item.content, item_source.source, item_source.part, item_source.how
FROM item
CROSS JOIN item_source
WHERE item.tenant = :tenant AND item.owner = :owner AND item.thread = :thread AND item.sourced = 1 AND item.compacted = 0
    AND item_source.tenant = :tenant AND item_source.owner = :owner AND item_source.item = item.item;

-- name: carried_now
-- The sources that the last turn of a thread had from its history, and since which turn.
SELECT first, source, part, how FROM carried_source
WHERE tenant = :tenant AND owner = :owner AND thread = :thread AND last IS NULL;

-- name: add_carried
-- Record that a part is sent with the history from a turn on.
INSERT INTO carried_source (tenant, owner, thread, first, source, part, how, last)
VALUES (:tenant, :owner, :thread, :first, :source, :part, :how, NULL);

-- name: end_carried
-- Record the last turn that had it.
UPDATE carried_source SET last = :last
WHERE tenant = :tenant AND owner = :owner AND thread = :thread AND first = :first AND part = :part AND how = :how;

-- name: direct_uses
-- The turns that have a source in their prompts, the newest first.
SELECT turn.serial, thread.name, turn.number, turn.created, turn.status, 'direct', layer, revision, first, last
FROM turn_source
JOIN turn ON turn.tenant = turn_source.tenant AND turn.owner = turn_source.owner AND turn.thread = turn_source.thread
    AND turn.serial = turn_source.turn
JOIN thread ON thread.tenant = turn.tenant AND thread.owner = turn.owner AND thread.thread = turn.thread
JOIN source_part ON source_part.tenant = turn_source.tenant AND source_part.owner = turn_source.owner
    AND source_part.part = turn_source.part
WHERE turn_source.tenant = :tenant AND turn_source.owner = :owner AND turn_source.source = :source
    AND (:finished = 0 OR turn.status = 'finished')
ORDER BY turn_source.turn DESC
LIMIT :limit;

-- name: texts_naming
-- The texts of an owner that name a note, without receipts.
SELECT content FROM mention WHERE tenant = :tenant AND note = :note AND owner = :owner AND receipt = 0;

-- name: parts_shown
-- Turns with a source in their prompts, and the part that each has, the newest first.
SELECT turn, part FROM turn_source
WHERE tenant = :tenant AND owner = :owner AND source = :source AND turn < :before
ORDER BY turn DESC
LIMIT 2000;

-- name: turn_with
-- A turn with a part of a source in its prompt, and what it sent.
SELECT turn.messages, source_part.layer, turn.serial, thread.name, turn.number, turn.created, turn.status
FROM turn_source
JOIN turn ON turn.tenant = turn_source.tenant AND turn.owner = turn_source.owner AND turn.thread = turn_source.thread
    AND turn.serial = turn_source.turn
JOIN thread ON thread.tenant = turn.tenant AND thread.owner = turn.owner AND thread.thread = turn.thread
JOIN source_part ON source_part.tenant = turn_source.tenant AND source_part.owner = turn_source.owner
    AND source_part.part = turn_source.part
WHERE turn_source.tenant = :tenant AND turn_source.owner = :owner AND turn_source.source = :source
    AND turn_source.turn = :turn AND turn_source.part = :part AND (:finished = 0 OR turn.status = 'finished');

-- name: spans
-- From which turn to which a source was sent with a history, the last first.
SELECT thread, first, coalesce(last, 9223372036854775807), part, how
FROM carried_source
WHERE tenant = :tenant AND owner = :owner AND source = :source
ORDER BY last IS NULL DESC, last DESC;

-- name: carried_uses
-- The turns in such a span, the newest first.
SELECT
    turn.serial, thread.name, turn.number, turn.created, turn.status, :how, layer, revision, source_part.first,
    source_part.last
FROM turn
JOIN thread ON thread.tenant = turn.tenant AND thread.owner = turn.owner AND thread.thread = turn.thread
JOIN source_part ON source_part.tenant = turn.tenant AND source_part.owner = turn.owner AND source_part.part = :part
WHERE turn.tenant = :tenant AND turn.owner = :owner AND turn.thread = :thread AND turn.serial BETWEEN :first AND :last
    AND (:finished = 0 OR turn.status = 'finished')
ORDER BY turn.serial DESC
LIMIT :limit;

-- name: sources_of_turn
-- The sources of a turn.
SELECT 'direct', address, layer, revision, first, last, thread.name, turn.number, turn.created, turn.status
FROM thread
JOIN turn ON turn.tenant = thread.tenant AND turn.owner = thread.owner AND turn.thread = thread.thread
JOIN turn_source ON turn_source.tenant = turn.tenant AND turn_source.owner = turn.owner AND turn_source.turn = turn.serial
JOIN source_part ON source_part.tenant = turn.tenant AND source_part.owner = turn.owner AND source_part.part = turn_source.part
JOIN source ON source.tenant = turn.tenant AND source.owner = turn.owner AND source.source = source_part.source
WHERE thread.tenant = :tenant AND thread.owner = :owner AND thread.name = :thread AND turn.number = :number
UNION ALL
SELECT
    how, address, layer, revision, source_part.first, source_part.last, thread.name, turn.number, turn.created,
    turn.status
FROM thread
JOIN turn ON turn.tenant = thread.tenant AND turn.owner = thread.owner AND turn.thread = thread.thread
JOIN carried_source ON carried_source.tenant = turn.tenant AND carried_source.owner = turn.owner
    AND carried_source.thread = turn.thread AND carried_source.first <= turn.serial
    AND (carried_source.last IS NULL OR carried_source.last >= turn.serial)
JOIN source_part ON source_part.tenant = turn.tenant AND source_part.owner = turn.owner AND source_part.part = carried_source.part
JOIN source ON source.tenant = turn.tenant AND source.owner = turn.owner AND source.source = source_part.source
WHERE thread.tenant = :tenant AND thread.owner = :owner AND thread.name = :thread AND turn.number = :number;

-- name: forget_parts
-- Reduce a forgotten source to the record that it was there, for one owner or, if none is given, for all.
UPDATE source_part SET revision = '', first = 0, last = 0
WHERE tenant = :tenant AND (tenant, owner, source) IN (
    SELECT tenant, owner, source FROM source
    WHERE tenant = :tenant AND address = :address AND owner = coalesce(:owner, owner)
);

-- name: threads
-- The threads of an owner, all or the one with a name.
SELECT thread, name, updated FROM thread
WHERE tenant = :tenant AND owner = :owner AND name = coalesce(:name, name)
ORDER BY thread;

-- name: recorded_threads
-- The threads of an owner whose conversations clients keep: the ids of their items say so (see chain.py).
SELECT thread, name, updated FROM thread
WHERE tenant = :tenant AND owner = :owner AND EXISTS (
    SELECT 1 FROM item
    WHERE item.tenant = :tenant AND item.owner = :owner AND item.thread = thread.thread
        AND item.id >= 'sent-' AND item.id < 'sent.'
)
ORDER BY thread;

-- name: turns_before
-- The turns of a thread that are older than a time, or all of them.
SELECT serial, id, number FROM turn
WHERE tenant = :tenant AND owner = :owner AND thread = :thread AND (:whole = 1 OR substr(created, 1, 19) < :before);

-- name: items
-- The items of a thread, in the order in which they were added.
SELECT item, turn, compacted, stands_for = '[]' FROM item
WHERE tenant = :tenant AND owner = :owner AND thread = :thread
ORDER BY item;

-- name: drop_turn
-- Drop a turn.
DELETE FROM turn WHERE tenant = :tenant AND owner = :owner AND thread = :thread AND serial = :turn;

-- name: drop_item_sources
-- Drop what an item brings into prompts.
DELETE FROM item_source WHERE tenant = :tenant AND owner = :owner AND item = :item;

-- name: drop_mention_items
-- Delete the record that an item names notes.
DELETE FROM mention_item
WHERE tenant = :tenant AND owner = :owner AND thread = :thread AND item = :item AND content = (
    SELECT content FROM item WHERE tenant = :tenant AND owner = :owner AND thread = :thread AND item = :item
);

-- name: drop_item
-- Drop an item.
DELETE FROM item WHERE tenant = :tenant AND owner = :owner AND thread = :thread AND item = :item;

-- name: note_removed
-- Store the highest number that was given to a turn.
UPDATE thread SET removed = :number
WHERE tenant = :tenant AND owner = :owner AND thread = :thread AND removed < :number;

-- name: drop_spans
-- Drop spans whose turns are all gone; spans that are still open stay.
DELETE FROM carried_source
WHERE tenant = :tenant AND owner = :owner AND thread = :thread AND (:whole = 1 OR (last IS NOT NULL AND NOT EXISTS (
    SELECT 1 FROM turn
    WHERE turn.tenant = carried_source.tenant AND turn.owner = carried_source.owner
        AND turn.thread = carried_source.thread AND serial BETWEEN carried_source.first AND carried_source.last
)));

-- name: drop_states
-- Drop the states of layers in a thread.
DELETE FROM state WHERE tenant = :tenant AND owner = :owner AND scope = 'thread' AND name = :name;

-- name: drop_thread
-- Drop a thread.
DELETE FROM thread WHERE tenant = :tenant AND owner = :owner AND thread = :thread;

-- name: drop_sources
-- Drop unused sources.
DELETE FROM source
WHERE tenant = :tenant AND owner = :owner
    AND source NOT IN (SELECT source FROM turn_source WHERE tenant = :tenant AND owner = :owner)
    AND source NOT IN (SELECT source FROM carried_source WHERE tenant = :tenant AND owner = :owner)
    AND source NOT IN (SELECT source FROM item_source WHERE tenant = :tenant AND owner = :owner);

-- name: drop_parts
-- Drop the parts of sources that are gone.
DELETE FROM source_part
WHERE tenant = :tenant AND owner = :owner
    AND source NOT IN (SELECT source FROM source WHERE tenant = :tenant AND owner = :owner);

-- name: used
-- The texts that the items and turns of an owner name, and their lists of messages.
SELECT receipt, messages FROM turn WHERE tenant = :tenant AND owner = :owner
UNION ALL
SELECT text, NULL FROM turn WHERE tenant = :tenant AND owner = :owner
UNION ALL
SELECT content, NULL FROM item WHERE tenant = :tenant AND owner = :owner;

-- name: texts_of_thread
-- The same of one thread.
SELECT receipt, messages FROM turn WHERE tenant = :tenant AND owner = :owner AND thread = :thread
UNION ALL
SELECT text, NULL FROM turn WHERE tenant = :tenant AND owner = :owner AND thread = :thread
UNION ALL
SELECT content, NULL FROM item WHERE tenant = :tenant AND owner = :owner AND thread = :thread;

-- name: counts
-- How many turns and items a thread has.
SELECT
    (SELECT count(*) FROM turn WHERE tenant = :tenant AND owner = :owner AND thread = :thread),
    (SELECT count(*) FROM item WHERE tenant = :tenant AND owner = :owner AND thread = :thread);
