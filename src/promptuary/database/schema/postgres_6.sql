-- The days that a chunk is of by what its file says, and the chunks of a day. An index that was made before is made anew.
ALTER TABLE index_chunk ADD COLUMN days TEXT NOT NULL DEFAULT '';

CREATE TABLE index_day (
    tenant INTEGER NOT NULL,
    owner INTEGER NOT NULL,
    generation INTEGER NOT NULL,
    day INTEGER NOT NULL,
    chunk INTEGER NOT NULL,
    PRIMARY KEY (tenant, owner, generation, day, chunk)
);

CREATE INDEX index_day_of_chunk ON index_day (tenant, owner, generation, chunk);

CREATE INDEX index_file_by_date ON index_file (tenant, owner, generation, date);

ALTER TABLE index_day ENABLE ROW LEVEL SECURITY;
ALTER TABLE index_day FORCE ROW LEVEL SECURITY;
CREATE POLICY own ON index_day USING (
    tenant = (SELECT acting_tenant())
    AND (owner IN (0, (SELECT acting_owner())) OR (SELECT acting_owner()) = -2)
);
