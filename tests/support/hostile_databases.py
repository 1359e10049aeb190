"""Databases as somebody else could have left them: damaged bytes, values of any kind, and schemas that do harm."""

from __future__ import annotations

import contextlib
import random
import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

VALUES: dict[str, str] = {
    "NULL": "NULL",
    "a negative number": "-1",
    "a huge number": "9223372036854775807",
    "a blob": "x'ff00fe'",
    "a word": "'abc'",
    "nothing": "''",
    "NaN": "'NaN'",
    "infinity": "9e999",
    "a long text": "printf('%.*c', 10000000, 'x')",
    "half a character": "CAST(x'eda080' AS TEXT)",
    "half a character in JSON": """'{"a": "\\ud800", "explanation": "\\udfff"}'""",
    "deep JSON": "printf('%.*c', 100000, '[') || printf('%.*c', 100000, ']')",
    "deep JSON in an object": """'{"scene": ' || printf('%.*c', 900, '[') || printf('%.*c', 900, ']') || '}'""",
    "a list of numbers": "'[1, 2]'",
    "an object": """'{"scene": {"objects": 5}, "boxes": [[1]], "explanation": 7, "answers": {}}'""",
    "a part of wrong types": """'[{"name": 1, "kind": [], "score": 1e999, "weight": -1, "about": [3], "reason": 0}]'""",
    "a number in JSON": "'1e999'",
    "NaN in JSON": """'{"score": NaN, "cost": Infinity}'""",
    "a path": "'../../x'",
    "an absolute path": "'/etc/passwd'",
    "terminal escapes": "char(27) || '[2J' || char(7) || char(10)",
}
"""Values for any column, as SQL."""

ENDLESS = "WITH RECURSIVE endless (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM endless)"

SCHEMAS: dict[str, str] = {
    "an endless view": f"ALTER TABLE {{table}} RENAME TO kept; CREATE VIEW {{table}} AS {ENDLESS} "
    "SELECT kept.* FROM kept, endless;",
    "a trigger": "CREATE TRIGGER harm AFTER UPDATE ON {table} BEGIN DELETE FROM {table}; END;",
    "an insert trigger": "CREATE TRIGGER harm BEFORE INSERT ON {table} BEGIN DELETE FROM {table}; END;",
    "an index on an expression": "CREATE INDEX harm ON {table} (length(hex({column})));",
    "a partial index": "CREATE INDEX harm ON {table} ({column}) WHERE {column} LIKE '%x%';",
    "a generated column": "ALTER TABLE {table} ADD COLUMN harm TEXT AS (printf('%.*c', 1000, 'x'));",
    "a further column": "ALTER TABLE {table} ADD COLUMN harm TEXT;",
    "a check": "ALTER TABLE {table} ADD COLUMN harm INTEGER CHECK (length(printf('%.*c', 100, 'x')) > 0);",
    "a collation": "CREATE INDEX harm ON {table} ({column} COLLATE NOCASE);",
    "a virtual table": "CREATE VIRTUAL TABLE harm USING fts5 (x);",
    "a further table": "CREATE TABLE harm (x);",
    "a missing table": "DROP TABLE {table};",
    "a virtual table in its place": "DROP TABLE {table}; CREATE VIRTUAL TABLE {table} USING fts5 (x);",
    "statistics": "ANALYZE;",
}
"""Statements that change the schema."""


class HostileEdit(NamedTuple):
    """A column that gets a value."""

    table: str
    column: str
    value: str


def tables_of(file: Path) -> dict[str, list[str]]:
    """The columns of each table."""
    with closing(sqlite3.connect(file)) as database:
        names = [name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        return {
            name: [row[1] for row in database.execute(f"PRAGMA table_info({name})")]
            for name in names
            if not name.startswith("sqlite_")
        }


def edits_of(file: Path) -> list[HostileEdit]:
    """All values in all columns."""
    return [
        HostileEdit(table, column, value)
        for table, columns in tables_of(file).items()
        for column in columns
        for value in VALUES
    ]


def apply_edit(file: Path, edit: HostileEdit, *, all_rows: bool, key: str = "rowid") -> None:
    """Set a column to a value, whatever its constraints say."""
    with _without_constraints(file) as database:
        where = "" if all_rows else f"WHERE {key} = (SELECT max({key}) FROM {edit.table})"
        with contextlib.suppress(sqlite3.IntegrityError):  # several rows cannot have the same key
            database.execute(f"UPDATE {edit.table} SET {edit.column} = {VALUES[edit.value]} {where}")


def change_schema(file: Path, name: str, table: str, column: str) -> None:
    """Change the schema."""
    with closing(sqlite3.connect(file)) as database:
        database.executescript(SCHEMAS[name].format(table=table, column=column))


def corrupt(file: Path, dice: random.Random) -> str:
    """Damage the bytes of a file and return how."""
    data = bytearray(file.read_bytes())
    page = 4096
    pages = max(len(data) // page, 1)
    kind = dice.choice(["flip", "flip", "header", "truncate", "zero", "swap", "noise", "copy"])
    one, other = dice.randrange(pages) * page, dice.randrange(pages) * page
    match kind:
        case "flip":
            for _ in range(dice.choice([1, 10, 200])):
                data[dice.randrange(len(data))] ^= 1 << dice.randrange(8)
        case "header":
            start = one + (100 if one == 0 else 0)
            for place in range(start, min(start + 40, len(data))):
                data[place] = dice.randrange(256)
        case "truncate":
            del data[dice.randrange(len(data)) :]
        case "zero":
            data[one : one + page] = bytes(len(data[one : one + page]))
        case "swap":
            data[one : one + page], data[other : other + page] = data[other : other + page], data[one : one + page]
        case "noise":
            data[one : one + page] = dice.randbytes(len(data[one : one + page]))
        case "copy":
            data[one : one + page] = data[other : other + page]
    file.write_bytes(data)
    return f"{kind} of {file.name}"


@contextlib.contextmanager
def _without_constraints(file: Path) -> Iterator[sqlite3.Connection]:
    """A connection to a database whose columns take anything; afterwards the schema is as it was."""
    with closing(_connect(file)) as database:
        schema = database.execute("SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL").fetchall()
        relaxed = [
            (re.sub("not null|strict", "", sql, flags=re.IGNORECASE), name)
            for name, sql in schema
            if sql.startswith("CREATE TABLE") and not name.startswith("sqlite_")
        ]
        _write_schema(database, relaxed)
    with closing(_connect(file)) as database:
        database.execute("PRAGMA ignore_check_constraints = ON")
        for (trigger,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
            database.execute(f"DROP TRIGGER {trigger}")
        yield database
    with closing(_connect(file)) as database:
        _write_schema(database, [(sql, name) for name, sql in schema])
        for _, sql in schema:
            if sql.startswith("CREATE TRIGGER"):
                database.execute(sql)


def _write_schema(database: sqlite3.Connection, texts: list[tuple[str, str]]) -> None:
    database.execute("PRAGMA writable_schema = ON")
    database.executemany("UPDATE sqlite_master SET sql = ? WHERE name = ?", texts)
    database.execute("PRAGMA writable_schema = RESET")


def _connect(file: Path) -> sqlite3.Connection:
    database = sqlite3.connect(file, isolation_level=None)
    database.execute("PRAGMA synchronous = OFF")
    return database
