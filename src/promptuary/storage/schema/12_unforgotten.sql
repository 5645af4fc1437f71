-- Version 12: which notes are being forgotten. A row is there from before the first step until after the last, so that
-- what a kill or a failing disk left undone is done by the next process.

CREATE TABLE unforgotten (
    owner INTEGER NOT NULL REFERENCES owner (id),
    note TEXT NOT NULL,
    everywhere INTEGER NOT NULL,
    PRIMARY KEY (owner, note)
) WITHOUT ROWID;
