-- name: add_session
-- Add a session, unless its id, name or thread is taken.
INSERT INTO session (owner, session, name, thread, body, version, checksum)
VALUES (:owner, :session, :name, :thread, :body, :version, :checksum)
ON CONFLICT DO NOTHING;

-- name: session_by_name
-- The session with a name.
SELECT number, session, name, thread, body, version, checksum FROM session WHERE owner = :owner AND name = :name;

-- name: session_of_thread
-- The session of a thread.
SELECT number, session, name, thread, body, version, checksum FROM session WHERE owner = :owner AND thread = :thread;

-- name: sessions
-- Every session of an owner, the newest first.
SELECT number, session, name, thread, body, version, checksum FROM session WHERE owner = :owner ORDER BY number DESC;

-- name: session_number
-- The number of a session of an owner.
SELECT number FROM session WHERE owner = :owner AND session = :session;

-- name: move_session
-- Record that the thread of a session was renamed.
UPDATE session SET thread = :thread, checksum = :checksum WHERE number = :number;

-- name: replace_session
-- Replace the body of a session.
UPDATE session SET body = :body, version = :version, checksum = :checksum
WHERE owner = :owner AND session = :session AND name = :name AND thread = :thread;

-- name: drop_session
-- Remove a session.
DELETE FROM session WHERE number = :number;

-- name: drop_session_files
-- Remove the pinned files of a session.
DELETE FROM session_files WHERE session = :number;

-- name: put_session_files
-- Store the pinned files of a session.
INSERT OR REPLACE INTO session_files (session, files) VALUES (:number, :files);

-- name: session_files
-- The pinned files of a session.
SELECT files FROM session_files WHERE session = :number;

-- name: drop_session_pins
-- Remove the other pins of a session.
DELETE FROM session_pin WHERE session = :number;

-- name: put_session_pin
-- Pin one thing at a revision.
INSERT OR REPLACE INTO session_pin (session, kind, scope, name, rev) VALUES (?, ?, ?, ?, ?);

-- name: drop_session_pin
-- Unpin one thing.
DELETE FROM session_pin WHERE session = ? AND kind = ? AND scope = ? AND name = ?;

-- name: session_pins
-- The other pins of a session.
SELECT kind, scope, name, rev FROM session_pin WHERE session = :number;

-- name: count_session_notes
-- How many notes a session has pinned.
SELECT count(*) FROM session_pin WHERE session = :number AND kind = 'note';
