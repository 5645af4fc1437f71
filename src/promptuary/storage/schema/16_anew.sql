-- The tables below are created anew by the next steps.

DROP TABLE note_count;

DROP TABLE note_text;

DROP TABLE note_change;

DROP TABLE note;

DROP TABLE note_owner;

DROP TABLE note_space;

DROP TABLE brought_note;

DROP TABLE unforgotten;

DROP TABLE writeback_turn;

DROP TABLE proposal;

DROP TABLE experience;

DROP TABLE session_pin;

DROP TABLE session_files;

DROP TABLE session;
