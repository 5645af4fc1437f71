-- The second wall behind the tenant and the owner in every query: rows of another tenant or owner do not exist for whoever
-- acts. It holds for the role that owns the tables, too. The settings end with their transaction; without them there are
-- no rows. 0 is everybody's, -2 stands for every owner: forgetting, and what keeps files and journal in step.
CREATE FUNCTION acting_tenant() RETURNS BIGINT LANGUAGE sql STABLE PARALLEL SAFE
RETURN nullif(current_setting('app.tenant', true), '')::bigint;

CREATE FUNCTION acting_owner() RETURNS BIGINT LANGUAGE sql STABLE PARALLEL SAFE
RETURN nullif(current_setting('app.owner', true), '')::bigint;

DO $$
DECLARE
    one record;
BEGIN
    FOR one IN
        SELECT
            relname,
            CASE
                WHEN relname NOT IN ('owner', 'note_owner', 'note_change', 'note_text') AND owned.attname IS NOT NULL
                    THEN format(' AND (%1$I IN (0, acting_owner()) OR acting_owner() = -2)', owned.attname)
                ELSE ''
            END AS also
        FROM pg_class
        JOIN pg_attribute AS keyed ON keyed.attrelid = pg_class.oid AND keyed.attname = 'tenant'
        LEFT JOIN pg_attribute AS owned ON owned.attrelid = pg_class.oid AND owned.attname IN ('owner', 'reader')
        WHERE relnamespace = 'promptuary'::regnamespace AND relkind = 'r'
    LOOP
        EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', one.relname);
        EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', one.relname);
        EXECUTE format('CREATE POLICY own ON %I USING (tenant = acting_tenant()%s)', one.relname, one.also);
    END LOOP;
END
$$;

-- The history of notes has no reader in its rows: who may read an entry depends on where the note is now. These are the
-- rules of the journal (memory/store/journal.py). They look at rows of others, so they act
-- for every owner meanwhile.
CREATE FUNCTION is_shared_change(body text) RETURNS BOOLEAN LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN body LIKE '%"path":"shared/%'; -- a quotation mark in a value has a backslash before it

CREATE FUNCTION is_shared_note(tenant_ bigint, space_ text, note_ text) RETURNS BOOLEAN LANGUAGE plpgsql STABLE
AS $$
DECLARE
    acting CONSTANT text := current_setting('app.owner', true);
    found boolean;
BEGIN
    PERFORM set_config('app.owner', '-2', true);
    SELECT audience = 'shared' INTO found FROM promptuary.note
    WHERE tenant = tenant_ AND space = space_ AND note = note_ AND reader IS NOT NULL
    LIMIT 1;
    IF found IS NULL THEN
        SELECT promptuary.is_shared_change(body) INTO found FROM promptuary.note_change
        WHERE tenant = tenant_ AND space = space_ AND note = note_
        ORDER BY number DESC
        LIMIT 1;
    END IF;
    PERFORM set_config('app.owner', coalesce(acting, ''), true);
    RETURN coalesce(found, false);
END
$$;

-- Whose a note is may be asked by all who may see it.
DROP POLICY own ON note_owner;
CREATE POLICY own ON note_owner USING (
    tenant = acting_tenant()
    AND CASE
        WHEN acting_owner() = -2 OR owner = acting_owner() THEN true
        ELSE is_shared_note(tenant, space, note)
    END
);

DROP POLICY own ON note_change;
CREATE POLICY own ON note_change USING (
    tenant = acting_tenant()
    AND CASE
        WHEN acting_owner() = -2 THEN true
        WHEN EXISTS (
            SELECT 1 FROM note_owner AS own
            WHERE own.tenant = note_change.tenant AND own.space = note_change.space AND own.note = note_change.note
                AND own.owner = acting_owner()
        ) THEN true
        WHEN is_shared_change(body) THEN is_shared_note(tenant, space, note)
        ELSE false
    END
);

DROP POLICY own ON note_text;
CREATE POLICY own ON note_text USING (
    tenant = acting_tenant()
    AND CASE
        WHEN acting_owner() = -2 THEN true
        ELSE EXISTS (
            SELECT 1 FROM note_change AS entry
            WHERE entry.tenant = note_text.tenant AND entry.space = note_text.space AND entry.note = note_text.note
                AND entry.text = note_text.sha256
        )
    END
);
