-- Version 4: whose this database is. One row; made by the person's own key for the path of the workspace.
CREATE TABLE binding (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    value TEXT NOT NULL
);
