-- name: receive
-- Stores a message that is not known.
INSERT INTO received (tenant, number, gateway, chat, message, received, status, body)
VALUES (:tenant, :number, :gateway, :chat, :message, :received, 'waiting', :body);

-- name: count
-- Counts up the messages, and returns the number for a new one.
UPDATE tenant SET received = received + 1 WHERE tenant = :tenant RETURNING received;

-- name: known
-- Finds a message by its ids.
SELECT number, status, body FROM received WHERE tenant = :tenant AND gateway = :gateway AND chat = :chat AND message = :message;

-- name: replace_body
-- Replaces the words of a message.
UPDATE received SET body = :body WHERE tenant = :tenant AND number = :number;

-- name: unanswered
-- Returns what waits, the oldest first.
SELECT number, chat, message, body, received, status, answer FROM received
WHERE tenant = :tenant AND gateway = :gateway AND status != 'answered' ORDER BY number;

-- name: one
-- Returns one message.
SELECT number, chat, message, body, received, status, answer FROM received
WHERE tenant = :tenant AND number = :number AND status != 'answered';

-- name: parts
-- Returns the messages that an answer was sent in.
SELECT part, message, since, repeated FROM sent WHERE tenant = :tenant AND number = :number ORDER BY part;

-- name: begin
-- Notes that an answer is begun.
UPDATE received SET status = 'begun' WHERE tenant = :tenant AND number = :number AND status = 'waiting';

-- name: ready
-- Stores the whole answer.
UPDATE received SET answer = :answer WHERE tenant = :tenant AND number = :number;

-- name: sending
-- Notes that a part is being sent, or sent again.
INSERT INTO sent (tenant, number, part, message, since, repeated) VALUES (:tenant, :number, :part, '', :since, :again)
ON CONFLICT (tenant, number, part) DO UPDATE SET repeated = max(sent.repeated, excluded.repeated);

-- name: sent
-- Notes what a part was sent as.
UPDATE sent SET message = :message WHERE tenant = :tenant AND number = :number AND part = :part;

-- name: answered
-- Drops the words of a message that was answered.
UPDATE received SET status = 'answered', body = NULL, answer = NULL WHERE tenant = :tenant AND number = :number;

-- name: drop_parts
-- Drops the ids of the messages of an answer.
DELETE FROM sent WHERE tenant = :tenant AND number = :number;

-- name: last_messages
-- Returns the message that was received last in each chat, of those in which the last messages were received.
SELECT chat, message FROM received
WHERE tenant = :tenant AND number IN (SELECT max(number) FROM received WHERE tenant = :tenant AND gateway = :gateway GROUP BY chat)
ORDER BY number DESC LIMIT :most;

-- name: note
-- Remembers something of a chat.
INSERT INTO noted (tenant, gateway, chat, name, value) VALUES (:tenant, :gateway, :chat, :name, :value)
ON CONFLICT (tenant, gateway, chat, name) DO UPDATE SET value = excluded.value;

-- name: forget_note
-- Forgets it.
DELETE FROM noted WHERE tenant = :tenant AND gateway = :gateway AND chat = :chat AND name = :name;

-- name: noted
-- Returns it.
SELECT value FROM noted WHERE tenant = :tenant AND gateway = :gateway AND chat = :chat AND name = :name;

-- name: prune
-- Drops old messages that were answered, but for the last one of each chat.
DELETE FROM received WHERE tenant = :tenant AND status = 'answered' AND received < :before
AND number NOT IN (SELECT max(number) FROM received WHERE tenant = :tenant GROUP BY gateway, chat);
