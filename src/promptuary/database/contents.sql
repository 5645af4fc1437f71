-- name: stored_contents
-- Which of some texts are stored.
SELECT sha256 FROM content WHERE tenant = :tenant AND owner = :owner AND sha256 IN (
    :text0, :text1, :text2, :text3, :text4, :text5, :text6, :text7,
    :text8, :text9, :text10, :text11, :text12, :text13, :text14, :text15
);

-- name: add_content
-- Store a text that is not there yet.
INSERT INTO content (tenant, owner, sha256, packed, body) VALUES (:tenant, :owner, :sha256, :packed, :body);

-- name: change_content
-- Replace a text by its redacted form.
UPDATE content SET packed = :packed, body = :body WHERE tenant = :tenant AND owner = :owner AND sha256 = :sha256;

-- name: get_content
-- A stored text.
SELECT sha256, packed, body FROM content WHERE tenant = :tenant AND owner = :owner AND sha256 = :sha256;

-- name: add_mention
-- Record that a text names a note.
INSERT INTO mention (tenant, note, owner, content, receipt) VALUES (:tenant, :note, :owner, :sha256, :receipt)
ON CONFLICT (tenant, note, owner, content) DO UPDATE SET
    receipt = CASE WHEN excluded.receipt = 1 THEN 1 ELSE mention.receipt END;

-- name: drop_mentions
-- Delete the record that a text names notes.
DELETE FROM mention WHERE tenant = :tenant AND owner = :owner AND content = :sha256;

-- name: drop_mention_items
-- Delete the record which items have it.
DELETE FROM mention_item WHERE tenant = :tenant AND owner = :owner AND content = :sha256;

-- name: drop_content
-- Drop a text.
DELETE FROM content WHERE tenant = :tenant AND owner = :owner AND sha256 = :sha256;

-- name: lengths
-- How many bytes each text of an owner takes.
SELECT sha256, length(body) FROM content WHERE tenant = :tenant AND owner = :owner;

-- name: contents
-- Every text of an owner.
SELECT sha256, packed, body FROM content WHERE tenant = :tenant AND owner = :owner;

-- name: every_content
-- Every text of everybody who uses the workspace, to be compared with its hash.
SELECT sha256, packed, body FROM content WHERE tenant = :tenant
UNION ALL
SELECT sha256, packed, body FROM state WHERE tenant = :tenant
UNION ALL
SELECT sha256, packed, body FROM note_text WHERE tenant = :tenant;
