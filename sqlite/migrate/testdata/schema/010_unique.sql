-- migrate: rebuild
-- ALTER TABLE cannot add UNIQUE. (PRAGMA foreign_keys = off would do nothing here.)
CREATE TABLE new_list(id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
INSERT INTO new_list SELECT id, name FROM list;
DROP TABLE list;
ALTER TABLE new_list RENAME TO list;
