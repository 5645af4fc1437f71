-- Version 4: what people say in each conversation as a whole, by the number of the chunk that holds it.

CREATE VIRTUAL TABLE conversation USING fts5 (said, tokenize = 'porter unicode61 remove_diacritics 2');

CREATE INDEX conversation_of_file ON chunk (file, start_line) WHERE own IS NOT '';
