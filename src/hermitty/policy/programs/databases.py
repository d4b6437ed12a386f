"""Clients of databases: sqlite3 may look into a file; others reach servers with the user's password."""

import re
from collections.abc import Sequence

from hermitty.policy import places
from hermitty.policy.arguments import Arg
from hermitty.policy.context import Judge
from hermitty.policy.effects import Effect, Finding, Level
from hermitty.policy.findings import RUNS_INPUT, ask
from hermitty.policy.options import Grammar
from hermitty.policy.programs.tables import Handler, Program, named

_SQLITE = Grammar(
    "-help -version -readonly -header -noheader -csv -json -line -list -html -markdown -table -box -column -tabs "
    "-quote -ascii -batch -bail -echo -safe -stats -separator: -nullvalue: -newline: -init:exec -cmd:ask "
    "-interactive^ask -unsafe-testing^ask -A^ask -append^ask -deserialize^ask -vfs:exec -zip^ask -archive^ask",
    "ask*",
    single_dash=True,
)
# Commands of the client that print; others open files and run programs.
_DOT = re.compile(
    r"\.(?:tables|schema|fullschema|indexes|indices|databases|dbinfo|help|show|version|lint)(?: [\w ?%*'\"-]*)?"
)
_TOKEN = re.compile(
    r"'(?:[^']|'')*'|\"[^\"]*\"|`[^`]*`|\[[^]]*\]|--[^\n]*|/\*.*?\*/|[A-Za-z_]\w*|[\d.]+|\s+|.", re.DOTALL
)
_READS = frozenset({"select", "with", "explain", "values"})
_WRITES = frozenset(
    {
        *("insert", "update", "delete", "replace", "create", "drop", "alter", "attach", "detach", "vacuum", "reindex"),
        *("pragma", "begin", "commit", "into", "savepoint", "release", "rollback", "analyze"),
    }
)
# Only these may be called: others load libraries, write files and start editors.
_FUNCTIONS = frozenset(
    {
        *(
            "count",
            "sum",
            "total",
            "avg",
            "min",
            "max",
            "group_concat",
            "string_agg",
            "abs",
            "round",
            "length",
            "lower",
        ),
        *("upper", "substr", "substring", "trim", "ltrim", "rtrim", "instr", "coalesce", "ifnull", "nullif", "iif"),
        *(
            "printf",
            "format",
            "hex",
            "quote",
            "typeof",
            "date",
            "time",
            "datetime",
            "julianday",
            "strftime",
            "unixepoch",
        ),
        *("random", "sqlite_version", "row_number", "rank", "dense_rank", "lag", "lead", "first_value", "last_value"),
        *("json", "json_extract", "json_array_length", "json_each", "json_type", "json_valid", "changes", "cast"),
        *("in", "and", "or", "not", "exists", "values", "as", "on", "over", "from", "where", "then", "else", "when"),
        *(
            "select",
            "union",
            "all",
            "by",
            "having",
            "join",
            "distinct",
            "between",
            "like",
            "glob",
            "is",
            "using",
            "case",
        ),
        *("except", "intersect", "partition", "filter", "limit", "offset"),
    }
)
_TABLE_INFO = re.compile(
    r"\s*pragma\s+(?:table_info|table_list|index_list|database_list|user_version|foreign_key_list)\s*(?:\(\s*['\"\w]+\s*\))?\s*;?\s*",
    re.IGNORECASE,
)


def _only_reads(sql: str) -> bool:
    """Tell whether all statements are queries that call nothing but plain functions."""
    if _TABLE_INFO.fullmatch(sql):
        return True
    tokens = [token.lower() for token in _TOKEN.findall(sql) if not token.isspace() and token[:2] not in ("--", "/*")]
    is_first = True
    for index, token in enumerate(tokens):
        if token == ";":
            is_first = True
            continue
        if is_first and token not in _READS:
            return False
        is_first = False
        if token in _WRITES and tokens[index + 1 : index + 2] != ["("]:
            return False
        if (
            tokens[index + 1 : index + 2] == ["("]
            and (token[0].isalpha() or token[0] in "\"'`[_")
            and token not in _FUNCTIONS
        ):
            return False
    return True


def _sqlite(name: str, args: Sequence[Arg], judge: Judge) -> list[Finding]:
    parsed = _SQLITE.parse(args, name)
    found = _SQLITE.option_findings(parsed, name, judge.here)
    if parsed.has("-version", "-help"):
        return found
    if parsed.operands:
        found += places.read(parsed.operands[0], judge.here)
    if len(parsed.operands) < 2:
        return [*found, ask(f"{name} {RUNS_INPUT}", Level.MEDIUM, Effect.EXEC)]
    for arg in parsed.operands[1:]:
        if arg.text is None or not (_DOT.fullmatch(arg.text) or (arg.text[:1] != "." and _only_reads(arg.text))):
            found += _statement(name, arg)
    return found


_LOSES = re.compile(r"\b(?:drop|truncate|delete|flushall|flushdb|dropdatabase|shutdown)\b", re.IGNORECASE)


def _statement(name: str, arg: Arg) -> list[Finding]:
    if _LOSES.search(arg.text or ""):
        return [ask(f"{name} may delete data", Level.HIGH, Effect.DELETE, at=arg)]
    return [ask(f"{name} may change data or run programs", Level.MEDIUM, Effect.WRITE, at=arg)]


def _client(reason: str, informs: str = "--version --help -V") -> Handler:
    """Make the judge of a client that connects to a server."""
    printing = frozenset(informs.split())

    def judge_client(name: str, args: Sequence[Arg], judge: Judge) -> list[Finding]:
        if len(args) == 1 and args[0].text in printing:
            return []
        found = [
            ask(f"{name} {reason}", Level.MEDIUM, Effect.NETWORK),
            ask(f"{name} uses your password for a database", Level.LOW, Effect.CREDENTIALS),
        ]
        if any(_LOSES.search(arg.text or "") for arg in args):
            found.append(ask(f"{name} may delete data", Level.HIGH, Effect.DELETE))
        return found

    return judge_client


def _drops(name: str, args: Sequence[Arg], judge: Judge) -> list[Finding]:
    return [] if [arg.text for arg in args] == ["--version"] else [ask("deletes a database", Level.HIGH, Effect.DELETE)]


PROGRAMS: dict[str, Program] = {
    **named("sqlite3 sqlite", _sqlite),
    **named(
        "psql mysql mariadb mycli pgcli mongosh mongo redis-cli valkey-cli sqlcmd cqlsh clickhouse-client influx "
        "duckdb",
        _client("talks to a database, and may change it or run programs"),
    ),
    **named(
        "pg_dump pg_dumpall mysqldump mongodump pg_restore mongorestore createdb createuser mysqladmin",
        _client("copies or changes a database"),
    ),
    **named("dropdb dropuser", _drops),
}
