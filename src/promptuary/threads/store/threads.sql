-- name: use_thread
-- Create a thread or record that it was used, put it before all others, and return its number.
INSERT INTO thread (tenant, owner, thread, name, created, updated, used, history)
VALUES (:tenant, :owner, :number, :name, :time, :time, :number, :empty)
ON CONFLICT (tenant, owner, name) DO UPDATE SET updated = excluded.updated, used = excluded.used
RETURNING thread;

-- name: find_thread
-- The number of a thread.
SELECT thread FROM thread WHERE tenant = :tenant AND owner = :owner AND name = :name;

-- name: rename_thread
-- Rename a thread.
UPDATE thread SET name = :name WHERE tenant = :tenant AND owner = :owner AND thread = :thread;

-- name: rename_states
-- Move the states of layers to the new name of a thread.
UPDATE state SET name = :name WHERE tenant = :tenant AND owner = :owner AND scope = 'thread' AND name = :thread;

-- name: threads
-- Every thread of an owner in one line, the most recently used first.
SELECT
    name,
    created,
    updated,
    (
        SELECT count(*) FROM turn
        WHERE turn.tenant = :tenant AND turn.owner = :owner AND turn.thread = thread.thread AND status <> 'continued'
    ) AS turns,
    (
        SELECT count(*) FROM item
        WHERE item.tenant = :tenant AND item.owner = :owner AND item.thread = thread.thread AND compacted = 0
    ) AS items
FROM thread
WHERE tenant = :tenant AND owner = :owner
ORDER BY used DESC;

-- name: last_place
-- The last place in the history of a thread; 0 if it is empty.
SELECT coalesce(max(place), 0) FROM item
WHERE tenant = :tenant AND owner = :owner AND thread = :thread AND compacted = 0;

-- name: add_item
-- Add an item to a thread, unless there is one with its id.
INSERT INTO item (
    tenant, owner, thread, item, id, place, pinned, role, kind, content, tool_calls, tool_call_id, stands_for, turn,
    attached, checksum
) VALUES (
    :tenant, :owner, :thread, :item, :id, :place, :pinned, :role, :kind, :content, :tool_calls, :tool_call_id,
    :stands_for, :turn, :attached, :checksum
)
ON CONFLICT (tenant, owner, id) DO NOTHING;

-- name: add_mention_item
-- Record that a text that names notes is in an item.
INSERT INTO mention_item (tenant, owner, content, thread, item) VALUES (:tenant, :owner, :content, :thread, :item)
ON CONFLICT (tenant, owner, content, thread, item) DO NOTHING;

-- name: find_item
-- Where an item is, and whether it may leave the history.
SELECT thread, place, compacted = 0 AND pinned = 0 AS may_leave FROM item
WHERE tenant = :tenant AND owner = :owner AND id = :id;

-- name: pin_item
-- Set or remove a pin.
UPDATE item SET pinned = :pinned WHERE tenant = :tenant AND owner = :owner AND id = :id;

-- name: compact_item
-- Remove an item from the history, not from the ledger.
UPDATE item SET compacted = 1 WHERE tenant = :tenant AND owner = :owner AND id = :id;

-- name: standing
-- The items in the history of a thread, in order, with the only columns that can change, and the checksum of the
-- history; of an empty one, that alone.
SELECT item.item, pinned, checksum, history
FROM thread
LEFT JOIN item ON item.tenant = thread.tenant AND item.owner = thread.owner AND item.thread = thread.thread AND item.compacted = 0
WHERE thread.tenant = :tenant AND thread.owner = :owner AND thread.name = :name
ORDER BY item.place;

-- name: standing_of
-- The same as ``standing``, by the number of the thread.
SELECT item, pinned, checksum FROM item
WHERE tenant = :tenant AND owner = :owner AND thread = :thread AND compacted = 0;

-- name: seal_history
-- Record the checksum of the history of a thread.
UPDATE thread SET history = :history WHERE tenant = :tenant AND owner = :owner AND thread = :thread;

-- name: history
-- The history of a thread, from the number of an item on.
SELECT
    item.item, item.id, role, pinned, kind, tool_calls, tool_call_id, stands_for, turn, attached, place, item.thread,
    checksum, sha256, packed, body
FROM thread
JOIN item ON item.tenant = thread.tenant AND item.owner = thread.owner AND item.thread = thread.thread
JOIN content ON content.tenant = item.tenant AND content.owner = item.owner AND content.sha256 = item.content
WHERE thread.tenant = :tenant AND thread.owner = :owner AND thread.name = :name AND item.item >= :first
    AND item.compacted = 0;

-- name: item
-- One item of an owner, compacted or not.
SELECT
    id, role, pinned, kind, tool_calls, tool_call_id, stands_for, turn, attached, place, thread, checksum, sha256,
    packed, body
FROM item
JOIN content ON content.tenant = item.tenant AND content.owner = item.owner AND content.sha256 = item.content
WHERE item.tenant = :tenant AND item.owner = :owner AND item.id = :id;

-- name: items_in
-- The items of an owner whose ids are in a range, compacted or not, the newest first.
SELECT
    id, role, pinned, kind, tool_calls, tool_call_id, stands_for, turn, attached, place, thread, checksum, sha256,
    packed, body
FROM item
JOIN content ON content.tenant = item.tenant AND content.owner = item.owner AND content.sha256 = item.content
WHERE item.tenant = :tenant AND item.owner = :owner AND item.id >= :first AND item.id < :last
ORDER BY item.item DESC
LIMIT 100;

-- name: thread_ending_in
-- The thread whose history ends with an item whose id is in a range; the one that was used last.
SELECT thread.name
FROM item
JOIN thread ON thread.tenant = item.tenant AND thread.owner = item.owner AND thread.thread = item.thread
WHERE item.tenant = :tenant AND item.owner = :owner AND item.id >= :first AND item.id < :last AND item.compacted = 0
    AND NOT EXISTS (
        SELECT 1 FROM item AS later
        WHERE later.tenant = item.tenant AND later.owner = item.owner AND later.thread = item.thread
            AND later.compacted = 0 AND later.place > item.place
    )
ORDER BY thread.used DESC
LIMIT 1;

-- name: said
-- Every item of a thread, compacted or not, in the order in which they were added.
SELECT
    item.id, role, pinned, kind, tool_calls, tool_call_id, stands_for, turn, attached, place, item.thread, checksum,
    sha256, packed, body
FROM thread
JOIN item ON item.tenant = thread.tenant AND item.owner = thread.owner AND item.thread = thread.thread
JOIN content ON content.tenant = item.tenant AND content.owner = item.owner AND content.sha256 = item.content
WHERE thread.tenant = :tenant AND thread.owner = :owner AND thread.name = :name
ORDER BY item.item;

-- name: find_turn
-- The turn with an id.
SELECT thread, number, "user", receipt, packed, serial, text, messages
FROM turn
JOIN content ON content.tenant = turn.tenant AND content.owner = turn.owner AND content.sha256 = turn.receipt
WHERE turn.tenant = :tenant AND turn.owner = :owner AND turn.id = :id;

-- name: find_number
-- Whether a number of a thread is taken.
SELECT id FROM turn WHERE tenant = :tenant AND owner = :owner AND thread = :thread AND number = :number;

-- name: add_turn
-- Add a turn to the ledger.
INSERT INTO turn (
    tenant, owner, thread, number, serial, id, created, status, "user", text, messages, receipt, tokens, reply_tokens,
    cost, checksum
) VALUES (
    :tenant, :owner, :thread, :number, :serial, :id, :created, :status, :user, :text, :messages, :receipt, :tokens,
    :reply_tokens, :cost, :checksum
);

-- name: change_turn
-- Update a turn. What was sent does not change.
UPDATE turn SET
    status = :status, receipt = :receipt, tokens = :tokens, reply_tokens = :reply_tokens, cost = :cost,
    checksum = :checksum
WHERE tenant = :tenant AND owner = :owner AND id = :id;

-- name: pending_turn
-- What the checksum of a prepared turn covers.
SELECT number, "user", text, messages, receipt, reply_tokens, cost
FROM turn
WHERE tenant = :tenant AND owner = :owner AND id = :id AND thread = :thread AND status = :status;

-- name: open_turns
-- The turns of a message that are prepared or have another status, with what their checksums cover.
SELECT id, number, "user", text, messages, receipt, reply_tokens, cost
FROM turn
WHERE tenant = :tenant AND owner = :owner AND thread = :thread AND id >= :first AND id < :last
    AND status IN ('prepared', :also);

-- name: set_status
-- Update the status of a turn, and nothing else.
UPDATE turn SET status = :status, checksum = :checksum WHERE tenant = :tenant AND owner = :owner AND id = :id;

-- name: turn
-- One turn by its number.
SELECT
    turn.id, thread.name, number, turn.created, status, text, messages, receipt, "user", turn.thread, reply_tokens, cost,
    checksum
FROM thread
JOIN turn ON turn.tenant = thread.tenant AND turn.owner = thread.owner AND turn.thread = thread.thread
WHERE thread.tenant = :tenant AND thread.owner = :owner AND thread.name = :name AND number = :number;

-- name: turn_status
-- Which turn has a number, and whether it is finished.
SELECT turn.id, status
FROM thread
JOIN turn ON turn.tenant = thread.tenant AND turn.owner = thread.owner AND turn.thread = thread.thread
WHERE thread.tenant = :tenant AND thread.owner = :owner AND thread.name = :name AND number = :number;

-- name: last_turn
-- The turn with the highest number.
SELECT
    turn.id, thread.name, number, turn.created, status, text, messages, receipt, "user", turn.thread, reply_tokens, cost,
    checksum
FROM thread
JOIN turn ON turn.tenant = thread.tenant AND turn.owner = thread.owner AND turn.thread = thread.thread
WHERE thread.tenant = :tenant AND thread.owner = :owner AND thread.name = :name
ORDER BY number DESC
LIMIT 1;

-- name: last_number
-- The highest number that a turn has, and the highest that one had.
SELECT
    coalesce((
        SELECT max(number) FROM turn
        WHERE turn.tenant = :tenant AND turn.owner = :owner AND turn.thread = thread.thread
    ), 0),
    removed
FROM thread
WHERE tenant = :tenant AND owner = :owner AND name = :name;

-- name: turns
-- The turns of a thread, in order.
SELECT
    turn.id, thread.name, number, turn.created, status, text, messages, receipt, "user", turn.thread, reply_tokens, cost,
    checksum
FROM thread
JOIN turn ON turn.tenant = thread.tenant AND turn.owner = thread.owner AND turn.thread = thread.thread
WHERE thread.tenant = :tenant AND thread.owner = :owner AND thread.name = :name
ORDER BY number;

-- name: threads_by_use
-- The threads of an owner, the most recently used first.
SELECT thread, used FROM thread WHERE tenant = :tenant AND owner = :owner ORDER BY used DESC;

-- name: serials_before
-- The turns of a thread that were added before another of the owner, the newest first.
SELECT serial, thread FROM turn
WHERE tenant = :tenant AND owner = :owner AND thread = :thread AND serial < :before
ORDER BY serial DESC
LIMIT :limit;

-- name: turn_by_serial
-- One turn by its place among all those of its owner.
SELECT
    turn.id, thread.name, number, turn.created, status, text, messages, receipt, "user", turn.thread, reply_tokens, cost,
    checksum
FROM turn
JOIN thread ON thread.tenant = turn.tenant AND thread.owner = turn.owner AND thread.thread = turn.thread
WHERE turn.tenant = :tenant AND turn.owner = :owner AND turn.thread = :thread AND serial = :serial;

-- name: turns_beside
-- The numbers of the turns before and after one.
SELECT
    coalesce((
        SELECT max(number) FROM turn
        WHERE tenant = :tenant AND owner = :owner AND thread = :thread AND number < :number
    ), 0),
    coalesce((
        SELECT min(number) FROM turn
        WHERE tenant = :tenant AND owner = :owner AND thread = :thread AND number > :number
    ), 0);

-- name: compacted_items
-- The items of a thread that stand for others.
SELECT id, kind, stands_for, content FROM item
WHERE tenant = :tenant AND owner = :owner AND thread = :thread AND stands_for <> '[]';

-- name: replies
-- The last messages of a model in a turn, which were added between the turns before and after it.
SELECT content FROM item
WHERE tenant = :tenant AND owner = :owner AND thread = :thread AND role = 'assistant' AND turn IN (:id, :root)
    AND item.item > coalesce((
        SELECT max(serial) FROM turn
        WHERE tenant = :tenant AND owner = :owner AND thread = :thread AND number < :number
    ), 0)
    AND item.item < coalesce((
        SELECT min(serial) FROM turn
        WHERE tenant = :tenant AND owner = :owner AND thread = :thread AND number > :number
    ), 9223372036854775807)
ORDER BY item.item DESC
LIMIT 3;

-- name: totals
-- The turns of a thread in figures, and how many messages it has, compacted ones too.
SELECT
    coalesce(sum(CASE WHEN status <> 'continued' THEN 1 ELSE 0 END), 0),
    coalesce(sum(CASE WHEN status = 'finished' THEN 1 ELSE 0 END), 0),
    coalesce(sum(tokens), 0),
    coalesce(sum(reply_tokens), 0),
    sum(cost),
    (
        SELECT count(*) FROM item
        WHERE tenant = :tenant AND owner = :owner AND thread = :thread AND kind = 'message' AND stands_for = '[]'
    )
FROM turn
WHERE tenant = :tenant AND owner = :owner AND thread = :thread;

-- name: tokens_of_turns
-- What the last turns of a thread sent, the newest first.
SELECT tokens FROM turn
WHERE tenant = :tenant AND owner = :owner AND thread = :thread
ORDER BY number DESC
LIMIT :limit;

-- name: keep_state
-- Replace what is stored for a layer in a scope.
INSERT INTO state (tenant, owner, layer, scope, name, version, sha256, packed, body)
VALUES (:tenant, :owner, :layer, :scope, :name, :version, :sha256, :packed, :body)
ON CONFLICT (tenant, owner, layer, scope, name) DO UPDATE SET
    version = excluded.version, sha256 = excluded.sha256, packed = excluded.packed, body = excluded.body;

-- name: states
-- What is stored for some layers in their scopes. The keys come first, whatever a planner thinks.
WITH wanted (owner, layer, scope, name) AS (
    VALUES
    (:owner0, :layer0, :scope0, :name0), (:owner1, :layer1, :scope1, :name1),
    (:owner2, :layer2, :scope2, :name2), (:owner3, :layer3, :scope3, :name3),
    (:owner4, :layer4, :scope4, :name4), (:owner5, :layer5, :scope5, :name5),
    (:owner6, :layer6, :scope6, :name6), (:owner7, :layer7, :scope7, :name7),
    (:owner8, :layer8, :scope8, :name8), (:owner9, :layer9, :scope9, :name9)
)
SELECT state.layer, state.scope, state.name, version, sha256, packed, body
FROM wanted
CROSS JOIN state
WHERE state.tenant = :tenant AND state.owner = wanted.owner AND state.layer = wanted.layer
    AND state.scope = wanted.scope AND state.name = wanted.name;

-- name: has_threads
-- Whether anybody has a thread in the workspace.
SELECT EXISTS (SELECT 1 FROM thread WHERE tenant = :tenant);
