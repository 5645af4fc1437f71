-- name: find_source
-- The number of a source of an owner.
SELECT id FROM source WHERE owner = :owner AND address = :address;

-- name: add_source
-- Give a source a number.
INSERT INTO source (owner, address) VALUES (:owner, :address) RETURNING id;

-- name: addresses
-- The sources of an owner, the newest first.
SELECT address FROM source WHERE owner = :owner ORDER BY id DESC LIMIT :limit;

-- name: find_part
-- The number of a part of a source.
SELECT id FROM source_part
WHERE source = :source AND layer = :layer AND revision = :revision AND first = :first AND last = :last;

-- name: add_part
-- Give a part of a source a number.
INSERT INTO source_part (source, layer, revision, first, last) VALUES (:source, :layer, :revision, :first, :last)
RETURNING id;

-- name: parts_of_turn
-- The sources in the prompt of a turn itself.
SELECT part FROM turn_source WHERE turn = :turn;

-- name: add_turn_source
-- Record a source in the prompt of a turn.
INSERT OR IGNORE INTO turn_source (source, turn, part) VALUES (:source, :turn, :part);

-- name: drop_turn_sources
-- Delete the recorded sources of a turn.
DELETE FROM turn_source WHERE turn = :turn;

-- name: add_item_source
-- Record a source that an item brings into prompts.
INSERT OR IGNORE INTO item_source (item, part, how) VALUES (:item, :part, :how);

-- name: mark_item
-- Record that an item brings sources into prompts.
UPDATE item SET sourced = 1 WHERE number = :item;

-- name: item_number
-- The number of an item.
SELECT number FROM item WHERE id = :id;

-- name: sources_of_item
-- The sources that an item brings into prompts.
SELECT address, layer, revision, first, last
FROM item
JOIN item_source ON item_source.item = item.number
JOIN source_part ON source_part.id = item_source.part
JOIN source ON source.id = source_part.source
WHERE item.id = :id AND item.thread = :thread
ORDER BY part;

-- name: standing_sources
-- The sources that the items in the history of a thread bring into prompts, with the text of each item.
SELECT item.content, source_part.source, item_source.part, item_source.how
FROM item INDEXED BY item_sourced
JOIN item_source ON item_source.item = item.number
JOIN source_part ON source_part.id = item_source.part
WHERE item.thread = :thread AND item.sourced = 1 AND item.compacted = 0;

-- name: every_item_source
-- The same for all items of a thread, compacted ones too.
SELECT item.content, source_part.source, item_source.part, item_source.how
FROM item
JOIN item_source ON item_source.item = item.number
JOIN source_part ON source_part.id = item_source.part
WHERE item.thread = :thread AND item.sourced = 1;

-- name: carried_now
-- The sources that the last turn of a thread had from its history.
SELECT id, source, part, how FROM carried_source WHERE thread = :thread AND last IS NULL;

-- name: add_carried
-- Record that a part is sent with the history from a turn on.
INSERT INTO carried_source (source, part, how, thread, first, last)
VALUES (:source, :part, :how, :thread, :first, :last);

-- name: end_carried
-- Record the last turn that had it.
UPDATE carried_source SET last = :last WHERE id = :id;

-- name: mark_turn
-- Record that the sources of a turn are indexed, and how many tokens it sent.
UPDATE turn SET indexed = 1, tokens = coalesce(tokens, :tokens) WHERE serial = :turn;

-- name: thread_indexed
-- Whether the sources of the items of a thread are known.
SELECT indexed FROM thread WHERE id = :thread;

-- name: mark_thread
-- Record that they are.
UPDATE thread SET indexed = 1 WHERE id = :thread;

-- name: old_thread
-- A thread of an owner with turns whose sources are not known.
SELECT thread.id
FROM turn INDEXED BY turn_not_indexed
JOIN thread ON thread.id = turn.thread
WHERE turn.indexed = 0 AND thread.owner = :owner
LIMIT 1;

-- name: old_turns
-- The first turns of a thread whose sources are not known.
SELECT serial, messages, receipt FROM turn WHERE thread = :thread AND indexed = 0 ORDER BY serial LIMIT :limit;

-- name: old_items
-- What was attached to the items of a thread, and what they stand for.
SELECT number, attached, stands_for FROM item
WHERE thread = :thread AND (attached <> '' OR stands_for <> '[]')
ORDER BY number;

-- name: direct_uses
-- The turns that have a source in their prompts, the newest first.
SELECT turn.serial, thread.name, turn.number, turn.created, turn.status, 'direct', layer, revision, first, last
FROM turn_source
JOIN turn ON turn.serial = turn_source.turn
JOIN thread ON thread.id = turn.thread
JOIN source_part ON source_part.id = turn_source.part
WHERE turn_source.source = :source AND (:finished = 0 OR turn.status = 'finished')
ORDER BY turn_source.turn DESC
LIMIT :limit;

-- name: spans
-- From which turn to which a source was sent with a history, the last first.
SELECT thread, carried_source.first, coalesce(carried_source.last, 9223372036854775807), part, how
FROM carried_source
WHERE source = :source
ORDER BY carried_source.last IS NULL DESC, carried_source.last DESC;

-- name: carried_uses
-- The turns in such a span, the newest first.
SELECT turn.serial, thread.name, turn.number, turn.created, turn.status, :how, layer, revision, source_part.first, source_part.last
FROM turn INDEXED BY turn_by_serial
JOIN thread ON thread.id = turn.thread
JOIN source_part ON source_part.id = :part
WHERE turn.thread = :thread AND turn.serial BETWEEN :first AND :last AND (:finished = 0 OR turn.status = 'finished')
ORDER BY turn.serial DESC
LIMIT :limit;

-- name: sources_of_turn
-- The sources of a turn.
SELECT 'direct', address, layer, revision, first, last, thread.name, turn.number, turn.created, turn.status
FROM thread
JOIN turn ON turn.thread = thread.id
JOIN turn_source ON turn_source.turn = turn.serial
JOIN source_part ON source_part.id = turn_source.part
JOIN source ON source.id = source_part.source
WHERE thread.owner = :owner AND thread.name = :thread AND turn.number = :number
UNION ALL
SELECT how, address, layer, revision, source_part.first, source_part.last, thread.name, turn.number, turn.created, turn.status
FROM thread
JOIN turn ON turn.thread = thread.id
JOIN carried_source ON carried_source.thread = thread.id
    AND carried_source.first <= turn.serial AND (carried_source.last IS NULL OR carried_source.last >= turn.serial)
JOIN source_part ON source_part.id = carried_source.part
JOIN source ON source.id = source_part.source
WHERE thread.owner = :owner AND thread.name = :thread AND turn.number = :number;

-- name: forget_parts
-- Reduce a forgotten source to the record that it was there.
UPDATE source_part SET revision = '', first = 0, last = 0
WHERE source IN (SELECT id FROM source WHERE address = :address AND (:owner IS NULL OR owner = :owner));

-- name: threads
-- The threads of an owner, all or the one with a name.
SELECT id, name, updated FROM thread WHERE owner = :owner AND (:name IS NULL OR name = :name) ORDER BY id;

-- name: turns_before
-- The turns of a thread that are older than a time, or all of them.
SELECT serial, id, number FROM turn WHERE thread = :thread AND (:whole OR substr(created, 1, 19) < :before);

-- name: items
-- The items of a thread, in the order in which they were added.
SELECT number, turn, compacted, stands_for = '[]' FROM item WHERE thread = :thread ORDER BY number;

-- name: drop_turn
-- Drop a turn.
DELETE FROM turn WHERE serial = :turn;

-- name: drop_item_sources
-- Drop what an item brings into prompts.
DELETE FROM item_source WHERE item = :item;

-- name: drop_mention_items
-- Delete the record that an item names notes.
DELETE FROM mention_item WHERE item = :item;

-- name: drop_item
-- Drop an item.
DELETE FROM item WHERE number = :item;

-- name: note_removed
-- Store the highest number that was given to a turn.
UPDATE thread SET removed = max(removed, :number) WHERE id = :thread;

-- name: drop_spans
-- Drop spans whose turns are all gone; spans that are still open stay.
DELETE FROM carried_source
WHERE thread = :thread AND (:whole OR (last IS NOT NULL AND NOT EXISTS (
    SELECT 1 FROM turn WHERE turn.thread = carried_source.thread AND serial BETWEEN carried_source.first AND carried_source.last
)));

-- name: drop_states
-- Drop the states of layers in a thread.
DELETE FROM state WHERE owner = :owner AND scope = 'thread' AND name = :name;

-- name: drop_thread
-- Drop a thread.
DELETE FROM thread WHERE id = :thread;

-- name: drop_sources
-- Drop unused sources.
DELETE FROM source
WHERE NOT EXISTS (SELECT 1 FROM turn_source WHERE turn_source.source = source.id)
    AND NOT EXISTS (SELECT 1 FROM carried_source WHERE carried_source.source = source.id)
    AND id NOT IN (SELECT source_part.source FROM item_source JOIN source_part ON source_part.id = item_source.part);

-- name: drop_parts
-- Drop the parts of sources that are gone.
DELETE FROM source_part WHERE source NOT IN (SELECT id FROM source);

-- name: used
-- The texts that items and turns name, and which are prompts, whose texts are named in them.
SELECT content, 0 FROM item
UNION SELECT text, 0 FROM turn
UNION SELECT receipt, 0 FROM turn
UNION SELECT messages, 1 FROM turn;

-- name: lengths
-- How many bytes each text takes.
SELECT id, length(body) FROM content;

-- name: drop_content
-- Drop a text.
DELETE FROM content WHERE id = :content;

-- name: drop_mentions
-- Delete the record that a text names notes.
DELETE FROM mention WHERE content = :content;

-- name: drop_mention_receipt
-- Delete the record that a text is a receipt.
DELETE FROM mention_receipt WHERE content = :content;

-- name: count_removal
-- Record for every process that a text was removed.
UPDATE removal SET count = count + 1;

-- name: texts_of_thread
-- The texts that a thread names, and which are prompts.
SELECT content, 0 FROM item WHERE thread = :thread
UNION SELECT text, 0 FROM turn WHERE thread = :thread
UNION SELECT receipt, 0 FROM turn WHERE thread = :thread
UNION SELECT messages, 1 FROM turn WHERE thread = :thread;

-- name: counts
-- How many turns and items a thread has.
SELECT (SELECT count(*) FROM turn WHERE thread = :thread), (SELECT count(*) FROM item WHERE thread = :thread);
