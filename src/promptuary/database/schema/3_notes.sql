-- The files of notes, if notes are in the database: by default they are Markdown files in folders, and this is empty.
--
-- `reader` is whom the file is for: 0 for everybody who uses the agent, or the owner of a private note. `stamp` is made at
-- random by each write, so that two versions of a file never have the same one.
CREATE TABLE note_file (
    tenant INTEGER NOT NULL,
    space TEXT NOT NULL,
    path TEXT NOT NULL,
    reader INTEGER NOT NULL,
    stamp INTEGER NOT NULL,
    content BLOB NOT NULL,
    PRIMARY KEY (tenant, space, path)
);
