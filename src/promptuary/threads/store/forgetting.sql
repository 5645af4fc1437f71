-- name: mentions
-- The texts that name a note, of every owner, and whether each is a receipt.
SELECT owner, content, receipt FROM mention WHERE tenant = :tenant AND note = :note;

-- name: drop_mentions
-- Record that no text names a note any more.
DELETE FROM mention WHERE tenant = :tenant AND note = :note;

-- name: mentioning_items
-- The items with a text.
SELECT
    item.item, id, role, pinned, kind, tool_calls, tool_call_id, stands_for, turn, attached, place, item.thread,
    checksum, sha256, packed, body
FROM mention_item
JOIN item ON item.tenant = mention_item.tenant AND item.owner = mention_item.owner AND item.thread = mention_item.thread
    AND item.item = mention_item.item AND item.content = mention_item.content
JOIN content ON content.tenant = item.tenant AND content.owner = item.owner AND content.sha256 = item.content
WHERE mention_item.tenant = :tenant AND mention_item.owner = :owner AND mention_item.content = :content;

-- name: change_item
-- Update an item, with its text or another.
UPDATE item SET
    content = coalesce(:content, content), tool_calls = :tool_calls, attached = :attached, checksum = :checksum
WHERE tenant = :tenant AND owner = :owner AND thread = :thread AND item = :item;

-- name: states
-- Every state of everybody.
SELECT owner, layer, scope, name, sha256, packed, body FROM state WHERE tenant = :tenant;

-- name: change_state
-- Replace a state by its redacted form.
UPDATE state SET sha256 = :sha256, packed = :packed, body = :body
WHERE tenant = :tenant AND owner = :owner AND layer = :layer AND scope = :scope AND name = :name;

-- name: items
-- Every item of an owner, in the history or not, with its thread and the number of its turn.
SELECT
    thread.name,
    coalesce((
        SELECT turn.number FROM turn WHERE turn.tenant = :tenant AND turn.owner = :owner AND turn.id = item.turn
    ), 0),
    item.item, item.id, role, pinned, kind, tool_calls, tool_call_id, stands_for, item.turn, attached, place,
    item.thread, checksum, sha256, packed, body
FROM item
JOIN thread ON thread.tenant = item.tenant AND thread.owner = item.owner AND thread.thread = item.thread
JOIN content ON content.tenant = item.tenant AND content.owner = item.owner AND content.sha256 = item.content
WHERE item.tenant = :tenant AND item.owner = :owner
ORDER BY item.item;

-- name: turns
-- Every turn of an owner.
SELECT
    turn.id, thread.name, number, turn.created, status, text, messages, receipt, "user", turn.thread, reply_tokens, cost,
    checksum
FROM thread
JOIN turn ON turn.tenant = thread.tenant AND turn.owner = thread.owner AND turn.thread = thread.thread
WHERE thread.tenant = :tenant AND thread.owner = :owner
ORDER BY thread.thread, number;

-- name: change_turn
-- Update the texts of a turn.
UPDATE turn SET text = :text, messages = :messages, receipt = :receipt, checksum = :checksum
WHERE tenant = :tenant AND owner = :owner AND id = :id;

-- name: turn_number
-- The number of a turn in its thread.
SELECT number FROM turn WHERE tenant = :tenant AND owner = :owner AND id = :turn;

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
