-- ratings.sqlite. Written by one process at a time (see the file `lock`), read by anyone at any time.

CREATE TABLE raters (
    number   INTEGER PRIMARY KEY,
    name     TEXT NOT NULL UNIQUE,      -- a pseudonym
    link     TEXT NOT NULL UNIQUE,      -- sha256 of the secret part of the link
    code     TEXT NOT NULL              -- completion code, shown once all tasks are finished
);

CREATE TABLE pictures (
    token    TEXT PRIMARY KEY,          -- all that raters learn of where a picture comes from
    position INTEGER NOT NULL,
    run      TEXT NOT NULL,
    item     TEXT NOT NULL,
    sample   INTEGER NOT NULL,
    level    INTEGER NOT NULL,
    file     TEXT NOT NULL,             -- inside the run folder
    sha256   TEXT NOT NULL,
    grounded TEXT,                      -- what a judge saw in it, as JSON; NULL if not needed or not known
    UNIQUE (run, item, sample)
);

CREATE TABLE asked (
    number   INTEGER PRIMARY KEY,
    item     TEXT NOT NULL,
    words    TEXT NOT NULL,
    steps    TEXT NOT NULL              -- JSON list
);

CREATE TABLE tasks (
    id       TEXT PRIMARY KEY,
    rater    INTEGER NOT NULL REFERENCES raters (number),
    position INTEGER NOT NULL,
    picture  TEXT NOT NULL REFERENCES pictures (token),
    other    TEXT REFERENCES pictures (token),  -- on the right, beside the picture; NULL for a single one
    asked    INTEGER NOT NULL REFERENCES asked (number),
    is_check INTEGER NOT NULL,          -- 1: an attention check, whose right answer is known
    UNIQUE (rater, position)
);

CREATE TABLE started (
    rater    INTEGER PRIMARY KEY REFERENCES raters (number),
    at       TEXT NOT NULL              -- when the instructions were read and the practice was over
);

-- Whatever people said stays: of several answers to a step the last counts.
CREATE TABLE answers (
    number   INTEGER PRIMARY KEY AUTOINCREMENT,
    task     TEXT NOT NULL REFERENCES tasks (id),
    step     TEXT NOT NULL,
    value    TEXT NOT NULL,             -- JSON
    seconds  REAL NOT NULL,
    at       TEXT NOT NULL,
    key      TEXT,                      -- by which an answer that arrives twice is known; NULL if nobody said
    UNIQUE (task, step, key)
);
CREATE INDEX answers_by_task ON answers (task, number);

CREATE TABLE finished (
    task     TEXT PRIMARY KEY REFERENCES tasks (id),
    at       TEXT NOT NULL
);

CREATE TRIGGER answers_stay BEFORE UPDATE ON answers BEGIN SELECT RAISE (ABORT, 'answers are never changed'); END;
CREATE TRIGGER answers_remain BEFORE DELETE ON answers BEGIN SELECT RAISE (ABORT, 'answers are never removed'); END;
CREATE TRIGGER finished_stays BEFORE UPDATE ON finished BEGIN SELECT RAISE (ABORT, 'finished tasks stay so'); END;
CREATE TRIGGER finished_remains BEFORE DELETE ON finished BEGIN SELECT RAISE (ABORT, 'finished tasks stay so'); END;
