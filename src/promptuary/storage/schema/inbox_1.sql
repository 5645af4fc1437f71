-- The messages that gateways received. Of one that is answered only its ids are left, so that it is known again.
CREATE TABLE received (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    gateway NOT NULL,
    chat NOT NULL,
    message NOT NULL,
    received TEXT NOT NULL,
    status TEXT NOT NULL CHECK (status IN ('waiting', 'begun', 'answered')),
    body,
    answer,
    UNIQUE (gateway, chat, message)
);
CREATE INDEX received_unanswered ON received (gateway, number) WHERE status != 'answered';

-- The messages that an answer was sent in; an empty id is one that was being sent.
CREATE TABLE sent (
    number INTEGER NOT NULL REFERENCES received (number) ON DELETE CASCADE,
    part INTEGER NOT NULL,
    message NOT NULL,
    PRIMARY KEY (number, part)
) WITHOUT ROWID;

-- What a chat has chosen or was offered.
CREATE TABLE noted (
    gateway NOT NULL,
    chat NOT NULL,
    name TEXT NOT NULL,
    value TEXT NOT NULL,
    PRIMARY KEY (gateway, chat, name)
) WITHOUT ROWID;
