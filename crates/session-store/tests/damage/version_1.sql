-- A database of schema version 1, as that version wrote it: a session with a branch, a move, a note, a filed node and
-- letters, of which one was consumed, and one with nothing but its root.
PRAGMA journal_mode = WAL;
BEGIN;
CREATE TABLE bodies (
    body INTEGER PRIMARY KEY,
    json TEXT    NOT NULL
) STRICT;
INSERT INTO bodies VALUES(1,'{"node":"n0","role":"system","author":"harness","content":[{"type":"text","text":"be brief"}]}');
INSERT INTO bodies VALUES(2,'{"node":"n1","role":"user","author":"person","content":[{"type":"text","text":"Will it rain?"}]}');
INSERT INTO bodies VALUES(3,'{"node":"n2","role":"assistant","author":"model","content":[{"type":"text","text":"No."}]}');
INSERT INTO bodies VALUES(4,'"person_revert"');
INSERT INTO bodies VALUES(5,'{"node":"n3","role":"assistant","author":"model","content":[{"type":"text","text":"It already does, \"cats and dogs\"."}]}');
INSERT INTO bodies VALUES(6,'{"mm":1.50}');
INSERT INTO bodies VALUES(7,'{"node":"n4","role":"user","author":"person","content":[{"type":"text","text":"aside"}]}');
INSERT INTO bodies VALUES(8,'{"node":"n0","role":"system","author":"harness","content":[{"type":"text","text":"be brief"}]}');
CREATE TABLE letters (
    session  INTEGER NOT NULL REFERENCES sessions (session),
    letter   INTEGER NOT NULL,
    at       INTEGER NOT NULL,
    kind     TEXT    NOT NULL,
    body     TEXT    NOT NULL,
    consumed INTEGER,
    PRIMARY KEY (session, letter)
) STRICT, WITHOUT ROWID;
CREATE TABLE records (
    session INTEGER NOT NULL REFERENCES sessions (session),
    seq     INTEGER NOT NULL,
    kind    TEXT    NOT NULL,
    node    INTEGER,
    parent  INTEGER,
    at      INTEGER NOT NULL,
    layer   TEXT,
    name    TEXT,
    body    INTEGER NOT NULL REFERENCES bodies (body),
    PRIMARY KEY (session, seq)
) STRICT, WITHOUT ROWID;
INSERT INTO records VALUES(1,1,'node',0,NULL,1000,NULL,NULL,1);
INSERT INTO records VALUES(1,2,'node',1,0,2000,NULL,NULL,2);
INSERT INTO records VALUES(1,3,'node',2,1,3000,NULL,NULL,3);
INSERT INTO records VALUES(1,4,'move',1,2,3500,NULL,NULL,4);
INSERT INTO records VALUES(1,5,'node',3,1,4000,NULL,NULL,5);
INSERT INTO records VALUES(1,6,'note',NULL,NULL,4000,'gauge','reading',6);
INSERT INTO records VALUES(1,7,'filed',4,0,5000,NULL,NULL,7);
INSERT INTO records VALUES(2,1,'node',0,NULL,7000,NULL,NULL,8);
CREATE TABLE sessions (
    session    INTEGER PRIMARY KEY,
    id         TEXT    NOT NULL UNIQUE,
    title      TEXT    NOT NULL,
    workspace  TEXT,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    head       INTEGER NOT NULL,
    records    INTEGER NOT NULL,
    nodes      INTEGER NOT NULL,
    letters    INTEGER NOT NULL DEFAULT 0
) STRICT;
INSERT INTO sessions VALUES(1,'00000000-0000-7000-8000-000000000001','rain','/project',1000,5000,3,7,5,2);
INSERT INTO sessions VALUES(2,'00000000-0000-7000-8000-000000000002','',NULL,7000,7000,0,1,1,0);
INSERT INTO letters VALUES(1,1,3900,'prompt','"and now?"',5);
INSERT INTO letters VALUES(1,2,6000,'prompt','{"text":"and tomorrow?"}',NULL);
PRAGMA application_id = 1414679372;
PRAGMA user_version = 1;
COMMIT;
