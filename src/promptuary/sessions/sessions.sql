-- name: add_session
-- Add a session, behind all others, unless its id, name or thread is taken.
INSERT INTO session (tenant, owner, session, place, name, thread, body, checksum)
SELECT :tenant, :owner, :session, coalesce(max(place), 0) + 1, :name, :thread, :body, :checksum
FROM session WHERE tenant = :tenant AND owner = :owner
ON CONFLICT DO NOTHING;

-- name: session_by_name
-- The session with a name.
SELECT session, name, thread, body, checksum FROM session
WHERE tenant = :tenant AND owner = :owner AND name = :name;

-- name: session_of_thread
-- The session of a thread.
SELECT session, name, thread, body, checksum FROM session
WHERE tenant = :tenant AND owner = :owner AND thread = :thread;

-- name: sessions
-- Every session of an owner, the newest first.
SELECT session, name, thread, body, checksum FROM session
WHERE tenant = :tenant AND owner = :owner
ORDER BY place DESC;

-- name: move_session
-- Record that the thread of a session was renamed.
UPDATE session SET thread = :thread, body = :body, checksum = :checksum
WHERE tenant = :tenant AND owner = :owner AND session = :session;

-- name: replace_session
-- Replace the body of a session.
UPDATE session SET body = :body, checksum = :checksum
WHERE tenant = :tenant AND owner = :owner AND session = :session AND name = :name AND thread = :thread;

-- name: drop_session
-- Remove a session.
DELETE FROM session WHERE tenant = :tenant AND owner = :owner AND session = :session;

-- name: put_session_files
-- Store the pinned files of a session.
INSERT INTO session_files (tenant, owner, session, files) VALUES (:tenant, :owner, :session, :files)
ON CONFLICT (tenant, owner, session) DO UPDATE SET files = excluded.files;

-- name: session_files
-- The pinned files of a session.
SELECT files FROM session_files WHERE tenant = :tenant AND owner = :owner AND session = :session;

-- name: drop_session_files
-- Remove the pinned files of a session.
DELETE FROM session_files WHERE tenant = :tenant AND owner = :owner AND session = :session;

-- name: put_session_pin
-- Pin one thing at a revision.
INSERT INTO session_pin (tenant, owner, session, kind, scope, name, rev)
VALUES (:tenant, :owner, :session, :kind, :scope, :name, :rev)
ON CONFLICT (tenant, owner, session, kind, scope, name) DO UPDATE SET rev = excluded.rev;

-- name: drop_session_pin
-- Unpin one thing.
DELETE FROM session_pin
WHERE tenant = :tenant AND owner = :owner AND session = :session AND kind = :kind AND scope = :scope AND name = :name;

-- name: drop_session_pins
-- Remove the other pins of a session.
DELETE FROM session_pin WHERE tenant = :tenant AND owner = :owner AND session = :session;

-- name: session_pins
-- The other pins of a session.
SELECT kind, scope, name, rev FROM session_pin WHERE tenant = :tenant AND owner = :owner AND session = :session;

-- name: count_session_notes
-- How many notes a session has pinned.
SELECT count(*) FROM session_pin
WHERE tenant = :tenant AND owner = :owner AND session = :session AND kind = 'note';

-- name: has_session
-- Whether a thread has a session.
SELECT EXISTS (SELECT 1 FROM session WHERE tenant = :tenant AND owner = :owner AND thread = :thread);
