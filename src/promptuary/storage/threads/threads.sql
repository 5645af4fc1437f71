-- name: find_content
-- The number of a text, if it is stored.
SELECT id FROM content WHERE sha256 = :sha256;

-- name: add_content
-- Store a text that is not there yet.
INSERT INTO content (sha256, packed, body) VALUES (:sha256, :packed, :body) RETURNING id;

-- name: get_content
-- A stored text.
SELECT sha256, packed, body FROM content WHERE id = :id;

-- name: removals
-- How often texts were removed.
SELECT count FROM removal;

-- name: add_mention
-- Record that a text names a note.
INSERT OR IGNORE INTO mention (note, content) VALUES (?, ?);

-- name: add_mention_receipt
-- Record that a text that names notes is a receipt.
INSERT OR IGNORE INTO mention_receipt (content) VALUES (:content);

-- name: add_mention_item
-- Record that a text that names notes is in an item.
INSERT OR IGNORE INTO mention_item (content, item) SELECT content, number FROM item WHERE id = :id;

-- name: add_owner
-- Make sure that an owner has a number.
INSERT INTO owner (kind, name, agent) VALUES (:kind, :name, :agent) ON CONFLICT (kind, name, agent) DO NOTHING;

-- name: find_owner
-- The number of an owner.
SELECT id FROM owner WHERE kind = :kind AND name = :name AND agent = :agent;

-- name: use_thread
-- Create a thread or record that it was used, and put it before all others.
INSERT INTO thread (owner, name, created, updated, used)
VALUES (:owner, :name, :time, :time, 1 + coalesce((SELECT max(used) FROM thread), 0))
ON CONFLICT (owner, name) DO UPDATE SET updated = excluded.updated, used = excluded.used;

-- name: find_thread
-- The number of a thread.
SELECT id FROM thread WHERE owner = :owner AND name = :name;

-- name: rename_thread
-- Rename a thread.
UPDATE thread SET name = :name WHERE id = :thread;

-- name: rename_states
-- Move the states of layers to the new name of a thread.
UPDATE state SET name = :name WHERE owner = :owner AND scope = 'thread' AND name = :thread;

-- name: threads
-- Every thread of an owner in one line, the most recently used first.
SELECT
    name,
    created,
    updated,
    (SELECT count(*) FROM turn WHERE turn.thread = thread.id AND status <> 'continued') AS turns,
    (SELECT count(*) FROM item WHERE item.thread = thread.id AND compacted = 0) AS items
FROM thread
WHERE owner = :owner
ORDER BY used DESC;

-- name: last_place
-- The last place in the history of a thread; 0 if it is empty.
SELECT coalesce(max(place), 0) FROM item WHERE thread = :thread AND compacted = 0;

-- name: add_item
-- Add an item to a thread.
INSERT INTO item (id, thread, place, pinned, role, kind, content, tool_calls, tool_call_id, stands_for, turn, attached, checksum)
VALUES (:id, :thread, :place, :pinned, :role, :kind, :content, :tool_calls, :tool_call_id, :stands_for, :turn, :attached, :checksum)
RETURNING number;

-- name: find_item
-- Where an item is, and whether it may leave the history.
SELECT thread, place, compacted = 0 AND pinned = 0 AS may_leave FROM item WHERE id = :id;

-- name: pin_item
-- Set or remove a pin.
UPDATE item SET pinned = :pinned WHERE id = :id;

-- name: compact_item
-- Remove an item from the history, not from the ledger.
UPDATE item SET compacted = 1 WHERE id = :id;

-- name: standing
-- The items in the history of a thread, in order, with the only columns that can change.
SELECT item.number, pinned, checksum
FROM thread
JOIN item ON item.thread = thread.id AND item.compacted = 0
WHERE thread.owner = :owner AND thread.name = :thread
ORDER BY item.place;

-- name: history_checksum
-- The checksum of the history of a thread, if it is recorded.
SELECT history FROM thread WHERE owner = :owner AND name = :thread;

-- name: standing_of
-- The same as ``standing``, by the number of the thread.
SELECT number, pinned, checksum FROM item WHERE thread = :thread AND compacted = 0;

-- name: seal_history
-- Record the checksum of the history of a thread.
UPDATE thread SET history = :history WHERE id = :thread;

-- name: history
-- The history of a thread, from the number of an item on.
SELECT
    item.number, item.id, role, pinned, kind, tool_calls, tool_call_id, stands_for, turn, attached, place, item.thread, checksum, sha256, packed, body
FROM thread
JOIN item ON item.thread = thread.id AND item.compacted = 0
JOIN content ON content.id = item.content
WHERE thread.owner = :owner AND thread.name = :thread AND item.number >= :first;

-- name: item
-- One item of an owner, compacted or not.
SELECT
    item.id, role, pinned, kind, tool_calls, tool_call_id, stands_for, turn, attached, place, item.thread, checksum, sha256, packed, body
FROM item
JOIN thread ON thread.id = item.thread AND thread.owner = :owner
JOIN content ON content.id = item.content
WHERE item.id = :id;

-- name: said
-- Every item of a thread, compacted or not, in the order in which they were added.
SELECT
    item.id, role, pinned, kind, tool_calls, tool_call_id, stands_for, turn, attached, place, item.thread, checksum, sha256, packed, body
FROM thread
JOIN item ON item.thread = thread.id
JOIN content ON content.id = item.content
WHERE thread.owner = :owner AND thread.name = :thread
ORDER BY item.number;

-- name: find_turn
-- The turn with an id.
SELECT thread, number, user, receipt, packed, serial FROM turn JOIN content ON content.id = receipt WHERE turn.id = :id;

-- name: find_number
-- Whether a number of a thread is taken.
SELECT id FROM turn WHERE thread = :thread AND number = :number;

-- name: add_turn
-- Add a turn to the ledger.
INSERT INTO turn (number, id, thread, created, status, text, messages, receipt, user, tokens, reply_tokens, cost, checksum, indexed)
VALUES (:number, :id, :thread, :created, :status, :text, :messages, :receipt, :user, :tokens, :reply_tokens, :cost, :checksum, 1)
RETURNING serial;

-- name: change_turn
-- Update a turn.
UPDATE turn SET
    status = :status, text = :text, messages = :messages, receipt = :receipt, tokens = :tokens,
    reply_tokens = :reply_tokens, cost = :cost, checksum = :checksum
WHERE id = :id;

-- name: pending_turn
-- What the checksum of a prepared turn covers.
SELECT number, user, text, messages, receipt, reply_tokens, cost
FROM turn
WHERE id = :id AND thread = :thread AND status = :status;

-- name: set_status
-- Update the status of a turn, and nothing else.
UPDATE turn SET status = :status, checksum = :checksum WHERE id = :id;

-- name: turn
-- One turn by its number.
SELECT turn.id, thread.name, number, turn.created, status, text, messages, receipt, user, turn.thread, reply_tokens, cost, checksum
FROM thread
JOIN turn ON turn.thread = thread.id
WHERE thread.owner = :owner AND thread.name = :thread AND number = :number;

-- name: last_turn
-- The turn with the highest number.
SELECT turn.id, thread.name, number, turn.created, status, text, messages, receipt, user, turn.thread, reply_tokens, cost, checksum
FROM thread
JOIN turn ON turn.thread = thread.id
WHERE thread.owner = :owner AND thread.name = :thread
ORDER BY number DESC
LIMIT 1;

-- name: last_number
-- The highest number that a turn has or had; 0 if there was none.
SELECT max(removed, coalesce((SELECT max(number) FROM turn WHERE turn.thread = thread.id), 0))
FROM thread
WHERE thread.owner = :owner AND thread.name = :thread;

-- name: turns
-- The turns of a thread, in order.
SELECT turn.id, thread.name, number, turn.created, status, text, messages, receipt, user, turn.thread, reply_tokens, cost, checksum
FROM thread
JOIN turn ON turn.thread = thread.id
WHERE thread.owner = :owner AND thread.name = :thread
ORDER BY number;

-- name: totals
-- The turns of a thread in figures, and how many messages it has, compacted ones too.
SELECT
    coalesce(sum(status <> 'continued'), 0),
    coalesce(sum(status = 'finished'), 0),
    coalesce(sum(tokens), 0),
    coalesce(sum(reply_tokens), 0),
    sum(cost),
    (SELECT count(*) FROM item WHERE item.thread = :thread AND kind = 'message' AND stands_for = '[]')
FROM turn
WHERE turn.thread = :thread;

-- name: tokens_of_turns
-- What the last turns of a thread sent, the newest first.
SELECT tokens FROM turn WHERE thread = :thread ORDER BY number DESC LIMIT :limit;

-- name: keep_state
-- Replace what is stored for a layer in a scope.
INSERT INTO state (owner, layer, scope, name, version, sha256, packed, body)
VALUES (:owner, :layer, :scope, :name, :version, :sha256, :packed, :body)
ON CONFLICT (owner, layer, scope, name) DO UPDATE SET
    version = excluded.version, sha256 = excluded.sha256, packed = excluded.packed, body = excluded.body;

-- name: state
-- What is stored for a layer in a scope.
SELECT version, sha256, packed, body
FROM state
WHERE owner = :owner AND layer = :layer AND scope = :scope AND name = :name;

-- name: contents
-- Every text, to be compared with its hash.
SELECT sha256, packed, body FROM content
UNION ALL
SELECT sha256, packed, body FROM state
UNION ALL
SELECT sha256, packed, body FROM note_text;

-- name: integrity
-- The result of the database's own integrity check, or "ok".
PRAGMA integrity_check;

-- name: has_session
-- Whether a thread has a session.
SELECT EXISTS (SELECT 1 FROM session WHERE tenant = 1 AND owner = :owner AND thread = :thread);
