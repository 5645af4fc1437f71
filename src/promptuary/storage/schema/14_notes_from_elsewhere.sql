-- Version 14: which files of notes were in the folder before this database, by their paths below `memory`: nobody here
-- wrote them, so they wait until the person adopts them. An empty path stands for all of them.

CREATE TABLE brought_note (
    path TEXT NOT NULL PRIMARY KEY
) WITHOUT ROWID;

-- Whose words a note held after a change. In a change of an earlier version it is NULL, and the text says it.
ALTER TABLE note_change ADD COLUMN trust TEXT;
