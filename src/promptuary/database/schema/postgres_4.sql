-- The second wall around the files of notes, as around other tables (postgres_2.sql).
ALTER TABLE note_file ENABLE ROW LEVEL SECURITY;
ALTER TABLE note_file FORCE ROW LEVEL SECURITY;
CREATE POLICY own ON note_file
USING (tenant = acting_tenant() AND (reader IN (0, acting_owner()) OR acting_owner() = -2));
