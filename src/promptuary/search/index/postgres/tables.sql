-- name: current
-- The generation of an index that searches read, and its version.
SELECT generation, version FROM index_generation
WHERE tenant = :tenant AND owner = :owner AND name = :name AND is_current;

-- name: begin
-- Begin a generation of an index.
INSERT INTO index_generation (tenant, owner, generation, name) VALUES (:tenant, :owner, :generation, :name);

-- name: retire
-- Nothing reads the current generation of an index any more.
UPDATE index_generation SET is_current = false
WHERE tenant = :tenant AND owner = :owner AND name = :name AND is_current;

-- name: publish
-- Let searches read a generation.
UPDATE index_generation SET is_current = true
WHERE tenant = :tenant AND owner = :owner AND generation = :generation;

-- name: others
-- The generations of an index that nothing reads.
SELECT generation FROM index_generation
WHERE tenant = :tenant AND owner = :owner AND name = :name AND NOT is_current;

-- name: named
-- The generations of the indexes of everybody whose names begin so.
SELECT owner, generation FROM index_generation
WHERE tenant = :tenant AND starts_with(name, :prefix) AND name <> :but;

-- name: drop_generation
-- Delete a generation as a whole.
WITH meta AS (
    DELETE FROM index_meta WHERE tenant = :tenant AND owner = :owner AND generation = :generation
), folder AS (
    DELETE FROM index_folder WHERE tenant = :tenant AND owner = :owner AND generation = :generation
), file AS (
    DELETE FROM index_file WHERE tenant = :tenant AND owner = :owner AND generation = :generation
), content AS (
    DELETE FROM index_content WHERE tenant = :tenant AND owner = :owner AND generation = :generation
), chunk AS (
    DELETE FROM index_chunk WHERE tenant = :tenant AND owner = :owner AND generation = :generation
), day AS (
    DELETE FROM index_day WHERE tenant = :tenant AND owner = :owner AND generation = :generation
), pending AS (
    DELETE FROM index_pending WHERE tenant = :tenant AND owner = :owner AND generation = :generation
), embedded AS (
    DELETE FROM index_embedded WHERE tenant = :tenant AND owner = :owner AND generation = :generation
), link AS (
    DELETE FROM index_link WHERE tenant = :tenant AND owner = :owner AND generation = :generation
), segment AS (
    DELETE FROM index_segment WHERE tenant = :tenant AND owner = :owner AND generation = :generation
), posting AS (
    DELETE FROM index_posting WHERE tenant = :tenant AND owner = :owner AND generation = :generation
), dead AS (
    DELETE FROM index_dead WHERE tenant = :tenant AND owner = :owner AND generation = :generation
)
DELETE FROM index_generation WHERE tenant = :tenant AND owner = :owner AND generation = :generation;

-- name: drop_vectors
-- Delete the vectors of a generation.
DELETE FROM index_vector WHERE tenant = :tenant AND owner = :owner AND generation = :generation;

-- name: size
-- How many chunks searches by words read.
SELECT chunks FROM index_generation WHERE tenant = :tenant AND owner = :owner AND generation = :generation;

-- name: counts
-- How many chunks there are, how many texts and words each field has, and how many chunks have each of some words.
SELECT chunks, (
    SELECT json_object_agg(field, json_build_array(texts, words))
    FROM (
        SELECT key AS field, sum((value ->> 0)::bigint) AS texts, sum((value ->> 1)::bigint) AS words
        FROM index_segment CROSS JOIN jsonb_each(fields)
        WHERE tenant = :tenant AND owner = :owner AND generation = :generation AND is_visible GROUP BY key
    ) AS whole
), (
    SELECT json_agg(json_build_array(field, word, number))
    FROM (
        SELECT posting.field, posting.word, sum(posting.chunks) AS number
        FROM json_to_recordset(:words::json) AS wanted (field text, word text)
        CROSS JOIN LATERAL (
            SELECT * FROM index_posting
            WHERE tenant = :tenant AND owner = :owner AND generation = :generation
            AND field = wanted.field AND word = wanted.word OFFSET 0
        ) AS posting
        JOIN index_segment AS segment
        ON segment.tenant = :tenant AND segment.owner = :owner AND segment.generation = :generation
        AND segment.segment = posting.segment AND segment.is_visible
        GROUP BY posting.field, posting.word
    ) AS each
)
FROM index_generation WHERE tenant = :tenant AND owner = :owner AND generation = :generation;

-- name: beginning
-- The most frequent words of a field that begin so.
SELECT word, sum(posting.chunks) AS number
FROM index_posting AS posting JOIN index_segment AS segment
ON segment.tenant = :tenant AND segment.owner = :owner AND segment.generation = :generation
AND segment.segment = posting.segment AND segment.is_visible
WHERE posting.tenant = :tenant AND posting.owner = :owner AND posting.generation = :generation
AND field = :field AND word >= :first AND word < :last
GROUP BY word ORDER BY number DESC, word LIMIT :limit;

-- name: best
-- The best chunks by BM25: each word has its weight, and how much the length of a text counts. A beginning of a word
-- counts once for a chunk, whichever words and fields of the chunk have it. Rounded, so that equal texts are equal. The
-- offset makes the planner look words up by their key, also where it knows nothing of the table yet.
WITH hit AS (
    SELECT entry.id, wanted.weight * entry.count / (entry.count + :least::float8 + wanted.slope * entry.length) AS score
    FROM json_to_recordset(:words::json) AS wanted (field text, word text, weight float8, slope float8)
    CROSS JOIN LATERAL (
        SELECT * FROM index_posting
        WHERE tenant = :tenant AND owner = :owner AND generation = :generation
        AND field = wanted.field AND word = wanted.word OFFSET 0
    ) AS posting
    JOIN index_segment AS segment
    ON segment.tenant = :tenant AND segment.owner = :owner AND segment.generation = :generation
    AND segment.segment = posting.segment AND segment.is_visible
    CROSS JOIN LATERAL unnest(posting.ids, posting.counts, posting.lengths) AS entry (id, count, length)
    WHERE NOT EXISTS (
        SELECT 1 FROM index_dead AS dead
        WHERE dead.tenant = :tenant AND dead.owner = :owner AND dead.generation = :generation
        AND dead.chunk = entry.id AND dead.segment >= posting.segment
    )
    UNION ALL
    SELECT id, score FROM (
        SELECT DISTINCT wanted.place, wanted.score, entry.id
        FROM json_to_recordset(:beginnings::json) AS wanted (
            place bigint, field text, first text, last text, score float8
        )
        JOIN index_posting AS posting
        ON posting.tenant = :tenant AND posting.owner = :owner AND posting.generation = :generation
        AND posting.field = wanted.field AND posting.word >= wanted.first AND posting.word < wanted.last
        JOIN index_segment AS segment
        ON segment.tenant = :tenant AND segment.owner = :owner AND segment.generation = :generation
        AND segment.segment = posting.segment AND segment.is_visible
        CROSS JOIN LATERAL unnest(posting.ids) AS entry (id)
        WHERE NOT EXISTS (
            SELECT 1 FROM index_dead AS dead
            WHERE dead.tenant = :tenant AND dead.owner = :owner AND dead.generation = :generation
            AND dead.chunk = entry.id AND dead.segment >= posting.segment
        )
    ) AS begun
)
SELECT id, CASE WHEN sum(score) >= 1 THEN floor(sum(score) * 1e4 + 0.5) / 1e4
ELSE floor(sum(score) * 1e6 + 0.5) / 1e6 END AS total
FROM hit
WHERE (:files::json IS NULL OR id IN (
    SELECT chunk.id FROM index_chunk AS chunk
    WHERE chunk.tenant = :tenant AND chunk.owner = :owner AND chunk.generation = :generation
    AND chunk.file IN (SELECT json_array_elements_text(:files::json)::bigint)
))
AND (:chunks::json IS NULL OR id IN (SELECT json_array_elements_text(:chunks::json)::int))
GROUP BY id ORDER BY total DESC, id LIMIT :limit;

-- name: holders
-- The chunks that have, for each part of a query, all words of one of its alternatives in the field of that.
SELECT id FROM (
    SELECT part, id FROM (
        SELECT wanted.part, wanted.choice, entry.id
        FROM json_to_recordset(:words::json) AS wanted (part bigint, choice bigint, field text, word text, needed bigint)
        CROSS JOIN LATERAL (
            SELECT * FROM index_posting
            WHERE tenant = :tenant AND owner = :owner AND generation = :generation
            AND field = wanted.field AND word = wanted.word OFFSET 0
        ) AS posting
        JOIN index_segment AS segment
        ON segment.tenant = :tenant AND segment.owner = :owner AND segment.generation = :generation
        AND segment.segment = posting.segment AND segment.is_visible
        CROSS JOIN LATERAL unnest(posting.ids) AS entry (id)
        WHERE NOT EXISTS (
            SELECT 1 FROM index_dead AS dead
            WHERE dead.tenant = :tenant AND dead.owner = :owner AND dead.generation = :generation
            AND dead.chunk = entry.id AND dead.segment >= posting.segment
        )
        GROUP BY wanted.part, wanted.choice, entry.id HAVING count(DISTINCT wanted.word) = max(wanted.needed)
    ) AS whole GROUP BY part, id
) AS held
WHERE (:files::json IS NULL OR id IN (
    SELECT chunk.id FROM index_chunk AS chunk
    WHERE chunk.tenant = :tenant AND chunk.owner = :owner AND chunk.generation = :generation
    AND chunk.file IN (SELECT json_array_elements_text(:files::json)::bigint)
))
GROUP BY id HAVING count(*) = :parts ORDER BY id LIMIT :limit;

-- name: drop_invisible
-- Delete the postings that a writer left who was killed.
WITH gone AS (
    DELETE FROM index_segment
    WHERE tenant = :tenant AND owner = :owner AND generation = :generation AND NOT is_visible
    RETURNING segment
)
DELETE FROM index_posting
WHERE tenant = :tenant AND owner = :owner AND generation = :generation AND segment IN (SELECT segment FROM gone);

-- name: last_segment
-- The highest number of a segment.
SELECT coalesce(max(segment), 0) FROM index_segment
WHERE tenant = :tenant AND owner = :owner AND generation = :generation;

-- name: add_segment
-- Add a segment, which searches do not read yet.
INSERT INTO index_segment (tenant, owner, generation, segment, chunks, fields)
VALUES (:tenant, :owner, :generation, :segment, :chunks, :fields::jsonb);

-- name: add_postings
-- Add postings of a segment.
INSERT INTO index_posting (tenant, owner, generation, field, word, segment, chunks, ids, counts, lengths)
SELECT :tenant, :owner, :generation, field, word, :segment, cardinality(ids), ids, counts, lengths
FROM json_to_recordset(:postings::json)
AS new (field text, word text, ids int[], counts smallint[], lengths smallint[]);

-- name: add_dead
-- A chunk does not count in the segments up to a number.
INSERT INTO index_dead (tenant, owner, generation, chunk, segment)
VALUES (:tenant, :owner, :generation, :chunk, :segment)
ON CONFLICT (tenant, owner, generation, chunk) DO UPDATE SET segment = excluded.segment;

-- name: show
-- Let searches read all segments, and count the chunks.
WITH seen AS (
    UPDATE index_segment SET is_visible = true
    WHERE tenant = :tenant AND owner = :owner AND generation = :generation AND NOT is_visible
)
UPDATE index_generation SET version = version + 1, chunks = (
    SELECT count(*) FROM index_chunk WHERE tenant = :tenant AND owner = :owner AND generation = :generation
)
WHERE tenant = :tenant AND owner = :owner AND generation = :generation;

-- name: merging
-- Become the only one who merges segments of a generation, until the transaction ends.
SELECT pg_try_advisory_xact_lock(:generation);

-- name: segments
-- The segments that searches read, and how many chunks each has; and how many chunks are dead.
SELECT segment, chunks, (
    SELECT count(*) FROM index_dead WHERE tenant = :tenant AND owner = :owner AND generation = :generation
)
FROM index_segment
WHERE tenant = :tenant AND owner = :owner AND generation = :generation AND is_visible ORDER BY segment;

-- name: merge
-- Make one segment of several that follow one another, without what is dead. All parts of this statement see the same
-- state: a chunk that dies meanwhile stays dead, since the new segment has the number of the last one.
WITH gone AS (
    DELETE FROM index_posting
    WHERE tenant = :tenant AND owner = :owner AND generation = :generation AND segment BETWEEN :first AND :last
    RETURNING field, word, segment, ids, counts, lengths
), kept AS (
    SELECT gone.field, gone.word, entry.id, entry.count, entry.length
    FROM gone CROSS JOIN LATERAL unnest(gone.ids, gone.counts, gone.lengths) AS entry (id, count, length)
    WHERE NOT EXISTS (
        SELECT 1 FROM index_dead AS dead
        WHERE dead.tenant = :tenant AND dead.owner = :owner AND dead.generation = :generation
        AND dead.chunk = entry.id AND dead.segment >= gone.segment
    )
), one AS (
    INSERT INTO index_posting (tenant, owner, generation, field, word, segment, chunks, ids, counts, lengths)
    SELECT :tenant, :owner, :generation, field, word, :last, count(*), array_agg(id ORDER BY id),
        array_agg(count ORDER BY id), array_agg(length ORDER BY id)
    FROM kept GROUP BY field, word
), buried AS (
    DELETE FROM index_dead
    WHERE tenant = :tenant AND owner = :owner AND generation = :generation AND segment <= :last AND :is_lowest = 1
), emptied AS (
    DELETE FROM index_segment
    WHERE tenant = :tenant AND owner = :owner AND generation = :generation AND segment >= :first AND segment < :last
)
UPDATE index_segment SET
    chunks = (SELECT count(DISTINCT id) FROM kept),
    fields = coalesce((
        SELECT jsonb_object_agg(field, jsonb_build_array(texts, words))
        FROM (SELECT field, count(DISTINCT id) AS texts, sum(count) AS words FROM kept GROUP BY field) AS whole
    ), '{}')
WHERE tenant = :tenant AND owner = :owner AND generation = :generation AND segment = :last;

-- name: vector_place
-- The schema with the types of pgvector, and whether there is the table that needs them.
SELECT quote_ident(nspname), EXISTS (
    SELECT 1 FROM pg_tables WHERE schemaname = 'promptuary' AND tablename = 'index_vector'
)
FROM pg_extension JOIN pg_namespace ON pg_namespace.oid = extnamespace WHERE extname = 'vector';

-- name: vector_sum
-- How many vectors there are, what their sum is, and whether they are in the approximate index.
SELECT vectors, vector_sum, is_large FROM index_generation
WHERE tenant = :tenant AND owner = :owner AND generation = :generation;

-- name: hold_vectors
-- The same, while other writers wait.
SELECT vectors, vector_sum, is_large FROM index_generation
WHERE tenant = :tenant AND owner = :owner AND generation = :generation FOR UPDATE;

-- name: set_vector_sum
-- Set how many vectors there are, and their sum.
UPDATE index_generation SET vectors = :vectors, vector_sum = :vector_sum, is_large = :is_large::int::boolean
WHERE tenant = :tenant AND owner = :owner AND generation = :generation;

-- name: take_vectors
-- Delete the vectors of some chunks, and return them.
DELETE FROM index_vector
WHERE tenant = :tenant AND owner = :owner AND generation = :generation
AND chunk IN (SELECT json_array_elements_text(:chunks::json)::bigint)
RETURNING body;

-- name: add_vector
-- Add the vector of a chunk.
INSERT INTO index_vector (tenant, owner, generation, chunk, is_large, body)
VALUES (:tenant, :owner, :generation, :chunk, :is_large::int::boolean, :body::extension.halfvec);

-- name: vectors_of
-- The vectors of some chunks.
SELECT chunk, body FROM index_vector
WHERE tenant = :tenant AND owner = :owner AND generation = :generation
AND chunk IN (SELECT json_array_elements_text(:chunks::json)::bigint);

-- name: nearest
-- The nearest vectors of all. The inner query keeps the planner from the approximate index, which would find those of
-- others first.
SELECT chunk, body FROM (
    SELECT chunk, body FROM index_vector
    WHERE tenant = :tenant AND owner = :owner AND generation = :generation
    AND (:chunks::json IS NULL OR chunk IN (SELECT json_array_elements_text(:chunks::json)::bigint)) OFFSET 0
) AS own
ORDER BY body OPERATOR(extension.<=>) :vector::extension.halfvec, chunk LIMIT :limit;

-- name: nearly_nearest
-- The nearest vectors by the approximate index, which goes on until it has found enough of this owner's.
SELECT chunk, body FROM index_vector
WHERE tenant = :tenant AND owner = :owner AND generation = :generation AND is_large
AND extension.vector_dims(body) = 384
AND (:chunks::json IS NULL OR chunk IN (SELECT json_array_elements_text(:chunks::json)::bigint))
ORDER BY body::extension.halfvec(384) OPERATOR(extension.<=>) :vector::extension.halfvec(384) LIMIT :limit;

-- name: scan_further
-- How far the approximate index looks, and that it goes on if what it finds is filtered.
SELECT set_config('hnsw.iterative_scan', 'relaxed_order', true), set_config('hnsw.ef_search', :width, true);

-- name: add_near_index
-- The approximate index of the vectors of large owners with so many dimensions.
CREATE INDEX IF NOT EXISTS index_vector_near_384 ON index_vector
USING hnsw ((body::extension.halfvec(384)) extension.halfvec_cosine_ops)
WHERE is_large AND extension.vector_dims(body) = 384;

-- name: small_vectors
-- Some chunks whose vectors are not in the approximate index.
SELECT chunk FROM index_vector
WHERE tenant = :tenant AND owner = :owner AND generation = :generation AND NOT is_large LIMIT :limit;

-- name: enlarge
-- Put the vectors of some chunks into the approximate index.
UPDATE index_vector SET is_large = true
WHERE tenant = :tenant AND owner = :owner AND generation = :generation
AND chunk IN (SELECT json_array_elements_text(:chunks::json)::bigint);
