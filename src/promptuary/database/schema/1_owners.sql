-- The workspaces in a database, and who owns what in them.
--
-- Every key begins with the tenant, which is a workspace: 1 in a file, which holds one. Then comes the owner where a row
-- has one, 0 for everybody who uses the workspace. A number is unique within its tenant or owner, and is given by a
-- counter in the row of that tenant or owner, so that a database can be cut anywhere between two owners.
-- Text that is not valid Unicode is a blob (see columns.py), so no column is stricter than that.

-- `owners` is the last number that an owner was given.
CREATE TABLE tenant (
    tenant INTEGER NOT NULL PRIMARY KEY,
    owners INTEGER NOT NULL
);

INSERT INTO tenant (tenant, owners) VALUES (1, 0);

-- `counter` gives numbers to threads, items, turns and sources of the owner, and orders them: clocks go back, it does not.
CREATE TABLE owner (
    tenant INTEGER NOT NULL,
    owner INTEGER NOT NULL,
    kind TEXT NOT NULL,
    name TEXT NOT NULL,
    agent TEXT NOT NULL,
    counter INTEGER NOT NULL,
    PRIMARY KEY (tenant, owner),
    UNIQUE (tenant, kind, name, agent)
);

-- Whose this database is: made by the person's own key for the path of the workspace.
CREATE TABLE binding (
    tenant INTEGER NOT NULL PRIMARY KEY,
    value TEXT NOT NULL
);
