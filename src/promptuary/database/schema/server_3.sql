-- Browsers that are signed in to the page, and codes with which one can. Only hashes: nobody can use what is stored here.
CREATE TABLE session (
    tenant INTEGER NOT NULL,
    id BLOB NOT NULL,
    token TEXT NOT NULL,
    expires TEXT NOT NULL,
    PRIMARY KEY (tenant, id),
    FOREIGN KEY (tenant, token) REFERENCES token (tenant, id) ON DELETE CASCADE
) WITHOUT ROWID;

CREATE TABLE invitation (
    tenant INTEGER NOT NULL,
    id BLOB NOT NULL,
    token TEXT NOT NULL,
    expires TEXT NOT NULL,
    PRIMARY KEY (tenant, id),
    FOREIGN KEY (tenant, token) REFERENCES token (tenant, id) ON DELETE CASCADE
) WITHOUT ROWID;
