-- Every long text of an owner, once, by its hash. Two owners with the same text have it twice: nobody can find out
-- whether another has it.
--
-- `packed` has the bits 1: compressed; 2: something was taken out, so the body begins with the hash of what is left, and
-- `sha256` is no more than its name; 4: not a text, but a part of a list of messages (see prompts.py).
CREATE TABLE content (
    tenant INTEGER NOT NULL,
    owner INTEGER NOT NULL,
    sha256 BLOB NOT NULL,
    packed INTEGER NOT NULL,
    body BLOB NOT NULL,
    PRIMARY KEY (tenant, owner, sha256)
);

-- Which texts name a note, so that it can be forgotten: its blocks and the lists that it is in; and which are receipts.
CREATE TABLE mention (
    tenant INTEGER NOT NULL,
    note TEXT NOT NULL,
    owner INTEGER NOT NULL,
    content BLOB NOT NULL,
    receipt INTEGER NOT NULL,
    PRIMARY KEY (tenant, note, owner, content)
) WITHOUT ROWID;

CREATE INDEX mention_by_content ON mention (tenant, owner, content);

-- Which items have such a text.
CREATE TABLE mention_item (
    tenant INTEGER NOT NULL,
    owner INTEGER NOT NULL,
    content BLOB NOT NULL,
    thread INTEGER NOT NULL,
    item INTEGER NOT NULL,
    PRIMARY KEY (tenant, owner, content, thread, item)
) WITHOUT ROWID;
