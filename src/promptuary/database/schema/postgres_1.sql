-- What only PostgreSQL needs, after the tables of the first step.

-- There is a tenant for each workspace, made when that is first used.
DELETE FROM tenant;

-- Until when a lock is held, unless its holder says that it is alive.
ALTER TABLE lease ADD COLUMN until timestamptz NOT NULL DEFAULT '-infinity';

-- The transactions that were committed, by a number that their writer made. If the connection is lost during a COMMIT,
-- the writer finds out here whether it happened.
CREATE TABLE written (
    tenant BIGINT NOT NULL,
    id BYTEA NOT NULL,
    at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (tenant, id)
);

CREATE INDEX written_at ON written (tenant, at);
