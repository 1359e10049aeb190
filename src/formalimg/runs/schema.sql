-- Results of one run. Written by one process at a time (see the file `lock`), read by anyone at any time.

CREATE TABLE items (
    id       TEXT PRIMARY KEY,
    position INTEGER NOT NULL,      -- in the suite
    level    INTEGER NOT NULL,
    prompt   TEXT NOT NULL,
    formula  TEXT NOT NULL,         -- empty for suites without
    tags     TEXT NOT NULL,         -- JSON list
    question TEXT NOT NULL,         -- digest of what is asked
    record   TEXT NOT NULL          -- the whole item, as in items.jsonl
);

CREATE TABLE pictures (
    item     TEXT NOT NULL REFERENCES items (id),
    sample   INTEGER NOT NULL,
    key      TEXT NOT NULL,         -- of everything that shapes the picture
    seed     INTEGER NOT NULL,
    status   TEXT NOT NULL CHECK (status IN ('planned', 'made', 'refused', 'failed', 'unreadable', 'too large', 'absent')),
    detail   TEXT NOT NULL DEFAULT '',
    file     TEXT,                  -- name in images/
    bytes    INTEGER,
    sha256   TEXT,
    width    INTEGER,
    height   INTEGER,
    served   TEXT NOT NULL DEFAULT '{}',
    cost     REAL NOT NULL DEFAULT 0,      -- US dollars, all attempts together, as far as prices are known
    unpriced INTEGER NOT NULL DEFAULT 0,   -- attempts whose price is not known
    attempts INTEGER NOT NULL DEFAULT 0,
    seconds  REAL,
    at       TEXT,
    PRIMARY KEY (item, sample)
);

CREATE TABLE judges (
    key      TEXT PRIMARY KEY,
    name     TEXT NOT NULL,
    settings TEXT NOT NULL
);

-- A verdict belongs to what was asked, the very picture, and the judge: a picture that comes again is not judged again.
CREATE TABLE verdicts (
    judge    TEXT NOT NULL REFERENCES judges (key),
    question TEXT NOT NULL,         -- as in items
    picture  TEXT NOT NULL,         -- sha256 of the file
    item     TEXT NOT NULL,
    passed   INTEGER,               -- NULL: unscored
    score    REAL,
    reason   TEXT NOT NULL DEFAULT '',
    detail   TEXT NOT NULL DEFAULT '',
    parts    TEXT NOT NULL DEFAULT '[]',
    evidence TEXT NOT NULL DEFAULT '{}',
    cost     REAL NOT NULL,         -- as in pictures
    unpriced INTEGER NOT NULL,
    attempts INTEGER NOT NULL DEFAULT 0,
    seconds  REAL,
    at       TEXT NOT NULL,
    PRIMARY KEY (judge, question, picture)
);
