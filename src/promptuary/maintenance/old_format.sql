-- name: foreign_names
-- What no database of ours has in place of a table: a view is a query of whoever made it.
SELECT name FROM old.sqlite_master WHERE type = 'view' OR sql LIKE 'CREATE VIRTUAL%';

-- name: old_owners
-- The owners; 0 was everybody.
SELECT id, kind, name, agent FROM old.owner WHERE id > 0;

-- name: count_owners
-- The last number that an owner was given.
UPDATE tenant SET owners = (SELECT coalesce(max(owner), 0) FROM owner);

-- name: copy_owners
-- The owners. A number is given to nothing twice: the counter of each is after all numbers that there were.
INSERT INTO owner (tenant, owner, kind, name, agent, counter)
SELECT :tenant, id, kind, name, agent, (
    SELECT max(number) FROM (
        SELECT coalesce(max(used), 0) AS number FROM old.thread
        UNION ALL SELECT coalesce(max(id), 0) FROM old.thread
        UNION ALL SELECT coalesce(max(number), 0) FROM old.item
        UNION ALL SELECT coalesce(max(serial), 0) FROM old.turn
        UNION ALL SELECT coalesce(max(id), 0) FROM old.source
        UNION ALL SELECT coalesce(max(id), 0) FROM old.source_part
    )
)
FROM old.owner
WHERE id > 0;

-- name: copy_binding
-- Whose the database is.
INSERT INTO binding (tenant, value) SELECT :tenant, value FROM old.binding;

-- name: copy_contents
-- The texts of items and turns, for each owner; those of prompts are copied with the turns.
INSERT INTO content (tenant, owner, sha256, packed, body)
SELECT :tenant, used.owner, sha256, packed, body
FROM (
    SELECT owner, content AS id FROM old.item JOIN old.thread ON thread.id = item.thread
    UNION SELECT owner, text FROM old.turn JOIN old.thread ON thread.id = turn.thread
    UNION SELECT owner, receipt FROM old.turn JOIN old.thread ON thread.id = turn.thread
) AS used
JOIN old.content ON content.id = used.id;

-- name: older_threads
-- The threads with rows of even earlier versions: without checksums, or without a record of their sources.
SELECT name FROM old.thread
WHERE EXISTS (SELECT 1 FROM old.turn WHERE turn.thread = thread.id AND (checksum IS NULL OR indexed = 0))
OR EXISTS (SELECT 1 FROM old.item WHERE item.thread = thread.id AND checksum IS NULL)
ORDER BY used DESC;

-- name: copy_threads
-- The threads. The checksums of their histories follow.
INSERT INTO thread (tenant, owner, thread, name, created, updated, used, history, removed)
SELECT :tenant, owner, id, name, created, updated, used, 0, removed FROM old.thread;

-- name: copy_items
-- The items of all threads.
INSERT INTO item (
    tenant, owner, thread, item, id, place, compacted, pinned, sourced, role, kind, content, tool_calls, tool_call_id,
    stands_for, turn, attached, checksum
)
SELECT
    :tenant, owner, thread, item.number, item.id, place, compacted, pinned, sourced, role, kind, sha256, tool_calls,
    tool_call_id, stands_for, turn, attached, checksum
FROM old.item
JOIN old.thread ON thread.id = item.thread
JOIN old.content ON content.id = item.content;

-- name: old_turns
-- The turns of all threads; each text by its number and its hash.
SELECT
    owner, thread, turn.number, serial, turn.id, turn.created, status, user, tokens, reply_tokens, cost, checksum,
    text.sha256 AS text, receipt.sha256 AS receipt, receipt.packed AS receipt_packed, receipt.body AS receipt_body,
    messages.sha256 AS messages, messages.packed AS messages_packed, messages.body AS messages_body
FROM old.turn
JOIN old.thread ON thread.id = turn.thread
JOIN old.content AS text ON text.id = turn.text
JOIN old.content AS messages ON messages.id = turn.messages
JOIN old.content AS receipt ON receipt.id = turn.receipt
ORDER BY serial;

-- name: old_content
-- The hash of a text.
SELECT sha256 FROM old.content WHERE id = :id;

-- name: copy_content
-- A text of a prompt.
INSERT INTO content (tenant, owner, sha256, packed, body)
SELECT :tenant, :owner, sha256, packed, body FROM old.content WHERE id = :id
ON CONFLICT (tenant, owner, sha256) DO NOTHING;

-- name: copy_mentions
-- Which texts name a note, for each owner who has them.
INSERT INTO mention (tenant, note, owner, content, receipt)
SELECT :tenant, note, owner, content.sha256, mention.content IN (SELECT content FROM old.mention_receipt)
FROM old.mention
JOIN old.content AS known ON known.id = mention.content
JOIN main.content ON content.sha256 = known.sha256;

-- name: copy_mention_items
-- Which items have such a text.
INSERT INTO mention_item (tenant, owner, content, thread, item)
SELECT :tenant, owner, sha256, thread, item.number
FROM old.mention_item
JOIN old.item ON item.number = mention_item.item
JOIN old.thread ON thread.id = item.thread
JOIN old.content ON content.id = mention_item.content;

-- name: copy_states
-- The states of layers.
INSERT INTO state (tenant, owner, layer, scope, name, version, sha256, packed, body)
SELECT :tenant, owner, layer, scope, name, version, sha256, packed, body FROM old.state;

-- name: copy_sources
-- Where something in a prompt came from.
INSERT INTO source (tenant, owner, source, address) SELECT :tenant, owner, id, address FROM old.source;

-- name: copy_parts
-- Sources as layers showed them.
INSERT INTO source_part (tenant, owner, part, source, layer, revision, first, last)
SELECT :tenant, owner, source_part.id, source, layer, revision, first, last
FROM old.source_part
JOIN old.source ON source.id = source_part.source;

-- name: copy_turn_sources
-- What stood in the prompts of turns themselves.
INSERT INTO turn_source (tenant, owner, source, turn, part, thread)
SELECT :tenant, owner, source, turn_source.turn, part, thread
FROM old.turn_source
JOIN old.source ON source.id = turn_source.source
JOIN old.turn ON turn.serial = turn_source.turn;

-- name: copy_item_sources
-- What was attached to items.
INSERT INTO item_source (tenant, owner, item, part, how, source)
SELECT :tenant, owner, item, part, how, source
FROM old.item_source
JOIN old.source_part ON source_part.id = item_source.part
JOIN old.item ON item.number = item_source.item
JOIN old.thread ON thread.id = item.thread;

-- name: copy_carried_sources
-- What was sent with histories.
INSERT INTO carried_source (tenant, owner, thread, first, source, part, how, last)
SELECT :tenant, owner, thread, first, source, part, how, last
FROM old.carried_source
JOIN old.source ON source.id = carried_source.source
WHERE true
ON CONFLICT (tenant, owner, thread, first, part, how) DO NOTHING;

-- name: old_note_owners
-- The owner of every note.
SELECT space.name, note_owner.space, note, owner, checksum
FROM old.note_owner
JOIN old.note_space AS space ON space.id = note_owner.space;

-- name: old_notes
-- Every file of a note, as it was last seen.
SELECT
    space.name AS space, reader, owner, recorded, size, modified, changed, inode, note AS id, path, scope, audience,
    kind, title, rev, status, summary, tags, created_at, created_by, updated_at, updated_by, source, source_ref,
    valid_from, valid_until, supersedes, pinned, confidence, trust, external, fingerprint, problem
FROM old.note
JOIN old.note_space AS space ON space.id = note.space;

-- name: copy_note_counts
-- How many notes there are.
INSERT INTO note_count (tenant, space, reader, kind, status, count)
SELECT tenant, space, reader, kind, status, count(*) FROM note WHERE reader IS NOT NULL GROUP BY 1, 2, 3, 4, 5;

-- name: copy_note_texts
-- Every text of a note.
INSERT INTO note_text (tenant, space, note, sha256, packed, body)
SELECT :tenant, space.name, note, sha256, packed, body
FROM old.note_text
JOIN old.note_space AS space ON space.id = note_text.space;

-- name: old_note_changes
-- Every change of a note.
SELECT
    space.name, number, text, checksum, trust, note_change.space, note, kind, at, actor, rev, path, reason, before
FROM old.note_change
JOIN old.note_space AS space ON space.id = note_change.space;

-- name: copy_brought_notes
-- The files that were in the folder before the database.
INSERT INTO brought_note (tenant, path) SELECT :tenant, path FROM old.brought_note;

-- name: copy_unforgotten
-- The notes that are being forgotten.
INSERT INTO unforgotten (tenant, owner, note, everywhere) SELECT :tenant, owner, note, everywhere FROM old.unforgotten;

-- name: copy_queue
-- The turns that wait for writeback.
INSERT INTO writeback_turn (tenant, owner, turn, place, thread, at, body, due, leased, tries, error)
SELECT :tenant, owner, turn, number, thread, at, body, due, leased, tries, error FROM old.writeback_turn;

-- name: copy_proposals
-- The proposals, rejected ones too.
INSERT INTO proposal (tenant, owner, proposal, place, fingerprint, body, checksum)
SELECT :tenant, owner, proposal, number, fingerprint, body, checksum FROM old.proposal;

-- name: old_experiences
-- Every experience.
SELECT
    owner, checksum, experience AS id, type, intent, solution, created_at, last_used_at, rev, fingerprint, outcome,
    problem, success_score, base_weight, weight, weighed_at, half_life_days, use_count, confidence, tags, thread, turn,
    trust, topic
FROM old.experience;

-- name: old_sessions
-- Every session.
SELECT owner, number AS place, checksum, session, name, thread, body, version FROM old.session;

-- name: add_session
-- A session.
INSERT INTO session (tenant, owner, session, place, name, thread, body, checksum)
VALUES (:tenant, :owner, :session, :place, :name, :thread, :body, :checksum);

-- name: copy_session_files
-- The pinned files of sessions.
INSERT INTO session_files (tenant, owner, session, files)
SELECT :tenant, owner, session.session, files
FROM old.session_files
JOIN old.session ON session.number = session_files.session;

-- name: copy_session_pins
-- The other pins of sessions.
INSERT INTO session_pin (tenant, owner, session, kind, scope, name, rev)
SELECT :tenant, owner, session.session, kind, scope, session_pin.name, rev
FROM old.session_pin
JOIN old.session ON session.number = session_pin.session;
