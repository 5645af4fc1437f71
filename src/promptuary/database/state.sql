-- name: has_session
-- Whether a thread has a session.
SELECT EXISTS (SELECT 1 FROM session WHERE tenant = :tenant AND owner = :owner AND thread = :thread);
