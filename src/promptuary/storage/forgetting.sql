-- name: mentions
-- The texts that name a note, and whether each is a receipt.
SELECT content, content IN (SELECT content FROM mention_receipt) FROM mention WHERE note = :note;

-- name: drop_mentions
-- Record that no text names a note any more.
DELETE FROM mention WHERE note = :note;

-- name: mentioning_items
-- The items with a text.
SELECT
    item.number, item.id, role, pinned, kind, tool_calls, tool_call_id, stands_for, turn, attached, place, item.thread, checksum, sha256, packed, body
FROM mention_item
JOIN item ON item.number = mention_item.item
JOIN content ON content.id = item.content
WHERE mention_item.content = :content;

-- name: change_content
-- Replace a text by its redacted form.
UPDATE content SET packed = :packed, body = :body WHERE id = :id;

-- name: change_item
-- Update an item, with its text or another.
UPDATE item SET
    content = coalesce(:content, content), tool_calls = :tool_calls, attached = :attached, checksum = :checksum
WHERE number = :number;

-- name: states
-- Every state.
SELECT rowid, sha256, packed, body FROM state;

-- name: change_state
-- Replace a state by its redacted form.
UPDATE state SET sha256 = :sha256, packed = :packed, body = :body WHERE rowid = :rowid;

-- name: items
-- Every item of an owner, in the history or not, with the number of its turn.
SELECT
    item.content,
    thread.name,
    coalesce((SELECT turn.number FROM turn WHERE turn.id = item.turn), 0),
    item.number, item.id, role, pinned, kind, tool_calls, tool_call_id, stands_for, item.turn, attached, place, item.thread, checksum, sha256, packed, body
FROM thread
JOIN item ON item.thread = thread.id
JOIN content ON content.id = item.content
WHERE thread.owner = :owner
ORDER BY item.number;

-- name: turns
-- Every turn of an owner.
SELECT turn.id, thread.name, number, turn.created, status, text, messages, receipt, user, turn.thread, reply_tokens, cost, checksum
FROM thread
JOIN turn ON turn.thread = thread.id
WHERE thread.owner = :owner
ORDER BY thread.id, number;

-- name: change_turn
-- Update the texts of a turn.
UPDATE turn SET text = :text, messages = :messages, receipt = :receipt, checksum = :checksum WHERE id = :id;

-- name: turn_number
-- The number of a turn in its thread.
SELECT number FROM turn WHERE id = :turn;

-- name: used_in_rows
-- The texts that items and turns name.
SELECT content FROM item UNION SELECT text FROM turn UNION SELECT messages FROM turn UNION SELECT receipt FROM turn;

-- name: prompts
-- The texts of the prompts of all turns: the JSON of each.
SELECT sha256, packed, body FROM content WHERE id IN (SELECT messages FROM turn);

-- name: all_contents
-- Every text with its number.
SELECT id, sha256, packed, body FROM content;

-- name: remove_content
-- Remove a text.
DELETE FROM content WHERE id = :id;

-- name: count_removal
-- Record for every process that a text was removed.
UPDATE removal SET count = count + 1;

-- name: queued
-- Every turn of an owner that waits for writeback.
SELECT turn, thread, body, error FROM writeback_turn WHERE tenant = :tenant AND owner = :owner ORDER BY place;

-- name: change_queued
-- Replace a waiting turn by its redacted form.
UPDATE writeback_turn SET body = :body, error = :error WHERE tenant = :tenant AND owner = :owner AND turn = :turn;

-- name: proposed
-- Every proposal of an owner that waits.
SELECT proposal, body FROM proposal WHERE tenant = :tenant AND owner = :owner AND body IS NOT NULL ORDER BY place;

-- name: remove_proposed
-- Remove a proposal.
DELETE FROM proposal WHERE tenant = :tenant AND owner = :owner AND proposal = :proposal;

-- name: begin_forgetting
-- Record that a note is being forgotten; once everywhere, it stays everywhere.
INSERT INTO unforgotten (tenant, owner, note, everywhere) VALUES (:tenant, :owner, :note, :everywhere)
ON CONFLICT (tenant, owner, note) DO UPDATE SET
    everywhere = CASE WHEN excluded.everywhere = 1 THEN 1 ELSE unforgotten.everywhere END;

-- name: unforgotten
-- The notes of an owner that are being forgotten.
SELECT note, everywhere FROM unforgotten WHERE tenant = :tenant AND owner = :owner ORDER BY note;

-- name: end_forgetting
-- Record that a note is completely forgotten.
DELETE FROM unforgotten WHERE tenant = :tenant AND owner = :owner AND note = :note;
