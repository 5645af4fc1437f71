-- Version 8: what has to be found when a note is forgotten. No earlier version put notes into prompts.
--
-- In `content`, `packed` is 2 or 3 for a text out of which something was taken: its body begins with the hash of what
-- is left, and `sha256` is no more than its name.

-- Which texts name a note: its blocks and the lists that it is in.
CREATE TABLE mention (
    note TEXT NOT NULL,
    content INTEGER NOT NULL REFERENCES content (id) ON DELETE CASCADE,
    PRIMARY KEY (note, content)
) WITHOUT ROWID;

CREATE INDEX mention_by_content ON mention (content);

-- Which texts that name notes are receipts, and which items have them.
CREATE TABLE mention_receipt (
    content INTEGER PRIMARY KEY REFERENCES content (id) ON DELETE CASCADE
);

CREATE TABLE mention_item (
    content INTEGER NOT NULL REFERENCES content (id) ON DELETE CASCADE,
    item INTEGER NOT NULL REFERENCES item (number),
    PRIMARY KEY (content, item)
) WITHOUT ROWID;

-- Counts up when a text is removed, so that no process uses what it remembers of it.
CREATE TABLE removal (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    count INTEGER NOT NULL
);

INSERT INTO removal (one, count) VALUES (1, 0);
