-- The messages that gateways received. Of one that is answered only its ids are left, so that it is known again.
--
-- In a file of its own: the messages belong to the person's gateways and to no workspace; which workspace a chat uses is
-- decided after they were received, and it may change.
CREATE TABLE received (
    tenant INTEGER NOT NULL,
    number INTEGER NOT NULL,
    gateway NOT NULL,
    chat NOT NULL,
    message NOT NULL,
    received TEXT NOT NULL,
    status TEXT NOT NULL CHECK (status IN ('waiting', 'begun', 'answered')),
    body,
    answer,
    PRIMARY KEY (tenant, number),
    UNIQUE (tenant, gateway, chat, message)
);

CREATE INDEX received_unanswered ON received (tenant, gateway, number) WHERE status != 'answered';

-- `received` is the last number that a message was given: none is given twice.
CREATE TABLE tenant (
    tenant INTEGER NOT NULL PRIMARY KEY,
    received INTEGER NOT NULL
);

INSERT INTO tenant (tenant, received) VALUES (1, 0);

-- The messages that an answer was sent in; an empty id is one that was being sent. `since` is when a part was first sent,
-- `repeated` whether it was sent again without knowing whether it had arrived.
CREATE TABLE sent (
    tenant INTEGER NOT NULL,
    number INTEGER NOT NULL,
    part INTEGER NOT NULL,
    message NOT NULL,
    since TEXT NOT NULL,
    repeated INTEGER NOT NULL,
    PRIMARY KEY (tenant, number, part),
    FOREIGN KEY (tenant, number) REFERENCES received (tenant, number) ON DELETE CASCADE
) WITHOUT ROWID;

-- What a chat has chosen or was offered.
CREATE TABLE noted (
    tenant INTEGER NOT NULL,
    gateway NOT NULL,
    chat NOT NULL,
    name TEXT NOT NULL,
    value TEXT NOT NULL,
    PRIMARY KEY (tenant, gateway, chat, name)
) WITHOUT ROWID;
