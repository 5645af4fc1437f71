-- Search in the database (index = "database"): what the folder of an index holds otherwise, in tables.
--
-- An index is what `name` says of an owner: the files of everybody (owner 0), or one owner's notes or experiences. Each
-- rebuild of it is a generation with a number of its own, made at random, so that nobody has to give numbers; the key of
-- every row is tenant, owner, generation. Numbers of files and chunks are those of one generation. All of it can be
-- rebuilt. No row refers to another by a constraint: postings are written by the thousand, and a generation goes as a
-- whole.

-- `version` counts the changes that searches by words see, so that they know what they counted before. `files` is the
-- last number that a file was given, `chunks` how many a search by words reads. `vectors` and `vector_sum` say how many vectors there are and what their
-- sum is, as 64-bit floats; `is_large`: they are in the approximate index.
CREATE TABLE index_generation (
    tenant INTEGER NOT NULL,
    owner INTEGER NOT NULL,
    generation INTEGER NOT NULL,
    name TEXT NOT NULL,
    is_current BOOLEAN NOT NULL DEFAULT false,
    version INTEGER NOT NULL DEFAULT 0,
    files INTEGER NOT NULL DEFAULT 0,
    chunks INTEGER NOT NULL DEFAULT 0,
    vectors INTEGER NOT NULL DEFAULT 0,
    vector_sum BLOB,
    is_large BOOLEAN NOT NULL DEFAULT false,
    PRIMARY KEY (tenant, owner, generation)
);

CREATE UNIQUE INDEX index_current ON index_generation (tenant, owner, name) WHERE is_current;

CREATE TABLE index_meta (
    tenant INTEGER NOT NULL,
    owner INTEGER NOT NULL,
    generation INTEGER NOT NULL,
    name TEXT NOT NULL,
    value TEXT NOT NULL,
    PRIMARY KEY (tenant, owner, generation, name)
);

CREATE TABLE index_folder (
    tenant INTEGER NOT NULL,
    owner INTEGER NOT NULL,
    generation INTEGER NOT NULL,
    id INTEGER NOT NULL,
    path TEXT NOT NULL,
    label TEXT NOT NULL,
    PRIMARY KEY (tenant, owner, generation, id),
    UNIQUE (tenant, owner, generation, path)
);

CREATE TABLE index_file (
    tenant INTEGER NOT NULL,
    owner INTEGER NOT NULL,
    generation INTEGER NOT NULL,
    id INTEGER NOT NULL,
    folder INTEGER NOT NULL,
    path TEXT NOT NULL,
    size INTEGER NOT NULL,
    modified INTEGER NOT NULL,
    changed INTEGER NOT NULL,
    inode INTEGER NOT NULL,
    sha256 BLOB NOT NULL,
    kind TEXT NOT NULL,
    date INTEGER NOT NULL,
    chunks INTEGER NOT NULL,
    conversations INTEGER NOT NULL,
    name TEXT NOT NULL,
    tags TEXT NOT NULL,
    PRIMARY KEY (tenant, owner, generation, id),
    UNIQUE (tenant, owner, generation, folder, path)
);

CREATE INDEX index_file_by_name ON index_file (tenant, owner, generation, name, folder);

CREATE TABLE index_content (
    tenant INTEGER NOT NULL,
    owner INTEGER NOT NULL,
    generation INTEGER NOT NULL,
    file INTEGER NOT NULL,
    text TEXT NOT NULL,
    PRIMARY KEY (tenant, owner, generation, file)
);

CREATE TABLE index_chunk (
    tenant INTEGER NOT NULL,
    owner INTEGER NOT NULL,
    generation INTEGER NOT NULL,
    id INTEGER NOT NULL,
    file INTEGER NOT NULL,
    start_line INTEGER NOT NULL,
    end_line INTEGER NOT NULL,
    heading TEXT NOT NULL,
    sha256 BLOB NOT NULL,
    own TEXT,
    names TEXT NOT NULL,
    date INTEGER,
    PRIMARY KEY (tenant, owner, generation, id)
);

CREATE INDEX index_chunk_of_file ON index_chunk (tenant, owner, generation, file);

CREATE TABLE index_pending (
    tenant INTEGER NOT NULL,
    owner INTEGER NOT NULL,
    generation INTEGER NOT NULL,
    chunk INTEGER NOT NULL,
    PRIMARY KEY (tenant, owner, generation, chunk)
);

CREATE TABLE index_embedded (
    tenant INTEGER NOT NULL,
    owner INTEGER NOT NULL,
    generation INTEGER NOT NULL,
    chunk INTEGER NOT NULL,
    PRIMARY KEY (tenant, owner, generation, chunk)
);

CREATE TABLE index_link (
    tenant INTEGER NOT NULL,
    owner INTEGER NOT NULL,
    generation INTEGER NOT NULL,
    id INTEGER NOT NULL,
    chunk INTEGER NOT NULL,
    target TEXT NOT NULL,
    name TEXT NOT NULL,
    text TEXT NOT NULL,
    PRIMARY KEY (tenant, owner, generation, id)
);

CREATE INDEX index_link_of_chunk ON index_link (tenant, owner, generation, chunk);

-- What was written at once, or merged. `is_visible`: searches read it. `fields` has, for each field, how many chunks have
-- any text there, and how many words these are together.
CREATE TABLE index_segment (
    tenant INTEGER NOT NULL,
    owner INTEGER NOT NULL,
    generation INTEGER NOT NULL,
    segment INTEGER NOT NULL,
    chunks INTEGER NOT NULL,
    fields jsonb NOT NULL,
    is_visible BOOLEAN NOT NULL DEFAULT false,
    PRIMARY KEY (tenant, owner, generation, segment)
);

-- Which chunks have a word in a field: their numbers, how often each has it, and how many words the field has there. The
-- length is in steps, as the full-text index on disk has it, so that both rank alike. `chunks` is how many they are.
CREATE TABLE index_posting (
    tenant INTEGER NOT NULL,
    owner INTEGER NOT NULL,
    generation INTEGER NOT NULL,
    field TEXT NOT NULL,
    word TEXT NOT NULL,
    segment INTEGER NOT NULL,
    chunks INTEGER NOT NULL,
    ids int[] NOT NULL,
    counts smallint[] NOT NULL,
    lengths smallint[] NOT NULL,
    PRIMARY KEY (tenant, owner, generation, field, word, segment)
);

-- Chunks that are gone, or stand in a later segment in another form: up to `segment` they do not count. A merge removes
-- them from the postings.
CREATE TABLE index_dead (
    tenant INTEGER NOT NULL,
    owner INTEGER NOT NULL,
    generation INTEGER NOT NULL,
    chunk INTEGER NOT NULL,
    segment INTEGER NOT NULL,
    PRIMARY KEY (tenant, owner, generation, chunk)
);

DO $$
DECLARE
    one text;
    place text;
BEGIN
    -- Vectors need pgvector. Without it, or without the right to add it, there is search by words.
    BEGIN
        CREATE EXTENSION IF NOT EXISTS vector SCHEMA public;
    EXCEPTION WHEN insufficient_privilege OR undefined_file OR feature_not_supported THEN
        NULL;
    END;
    SELECT quote_ident(nspname) INTO place
    FROM pg_extension JOIN pg_namespace ON pg_namespace.oid = extnamespace WHERE extname = 'vector';
    IF place IS NOT NULL THEN
        EXECUTE format(
            'CREATE TABLE index_vector (tenant bigint NOT NULL, owner bigint NOT NULL, generation bigint NOT NULL,
            chunk bigint NOT NULL, is_large boolean NOT NULL DEFAULT false, body %s.halfvec NOT NULL,
            PRIMARY KEY (tenant, owner, generation, chunk))', place
        );
    END IF;
    -- The same policy as that of the tables of the state. What is selected is computed once and not for each row: a search
    -- reads thousands.
    FOR one IN
        SELECT tablename FROM pg_tables WHERE schemaname = 'promptuary' AND tablename LIKE 'index\_%'
    LOOP
        EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', one);
        EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', one);
        EXECUTE format(
            'CREATE POLICY own ON %I USING (tenant = (SELECT acting_tenant())
            AND (owner IN (0, (SELECT acting_owner())) OR (SELECT acting_owner()) = -2))', one
        );
    END LOOP;
END
$$;
