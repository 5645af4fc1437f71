-- Version 13: how many notes there are of each reader, kind and status. Every turn says how many notes it does not list;
-- counting the rows each time would take longer than all else that it does with 100,000 of them.

CREATE TABLE note_count (
    space INTEGER NOT NULL REFERENCES note_space (id),
    reader INTEGER NOT NULL REFERENCES owner (id),
    kind TEXT NOT NULL,
    status TEXT NOT NULL,
    count INTEGER NOT NULL,
    PRIMARY KEY (space, reader, kind, status)
) WITHOUT ROWID;

INSERT INTO note_count (space, reader, kind, status, count)
SELECT space, reader, kind, status, count(*) FROM note WHERE reader IS NOT NULL GROUP BY space, reader, kind, status;

CREATE TRIGGER note_counted AFTER INSERT ON note WHEN new.reader IS NOT NULL BEGIN
    INSERT INTO note_count (space, reader, kind, status, count) VALUES (new.space, new.reader, new.kind, new.status, 1)
    ON CONFLICT (space, reader, kind, status) DO UPDATE SET count = count + 1;
END;

CREATE TRIGGER note_uncounted AFTER DELETE ON note WHEN old.reader IS NOT NULL BEGIN
    UPDATE note_count SET count = count - 1
    WHERE space = old.space AND reader = old.reader AND kind = old.kind AND status = old.status;
END;

CREATE TRIGGER note_counted_elsewhere AFTER UPDATE OF reader, kind, status ON note
WHEN old.reader IS NOT new.reader OR old.kind <> new.kind OR old.status <> new.status BEGIN
    UPDATE note_count SET count = count - 1
    WHERE space = old.space AND reader = old.reader AND kind = old.kind AND status = old.status;
    INSERT INTO note_count (space, reader, kind, status, count)
    SELECT new.space, new.reader, new.kind, new.status, 1 WHERE new.reader IS NOT NULL
    ON CONFLICT (space, reader, kind, status) DO UPDATE SET count = count + 1;
END;
