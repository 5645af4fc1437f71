-- Requests that were begun with a key of the client, so that none is carried out twice. No text: only hashes.
CREATE TABLE begun (
    tenant INTEGER NOT NULL,
    key BLOB NOT NULL,
    body BLOB NOT NULL,
    time TEXT NOT NULL,
    PRIMARY KEY (tenant, key)
) WITHOUT ROWID;

CREATE INDEX begun_time ON begun (tenant, time);
