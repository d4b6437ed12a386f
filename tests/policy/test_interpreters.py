"""Interpreters and clients of databases: their versions are free, what they run is asked about."""

import pytest

from hermitty.policy.effects import Effect, Level
from hermitty.policy.findings import RUNS_INPUT

from .judging import is_allowed, is_asked, is_asked_at, judged, lines

LOW, MEDIUM, HIGH = Level.LOW, Level.MEDIUM, Level.HIGH

SAFE = lines(r"""
    python --version
    python3 --version
    python3 -V
    python3.12 -V
    python --help
    python3 -m json.tool x.json
    python3 -m json.tool
    python3 -m json.tool --indent 2 x.json
    python3 -m json.tool --sort-keys x.json -
    python3 -mjson.tool x.json
    python3 -Im json.tool x.json
    python3 -I -m json.tool x.json
    python3 -W ignore -m json.tool x.json
    python3 -m calendar
    python3 -m platform
    python3 -m site
    python3 -m site --user-site
    python3 -m ast x.py
    python3 -m tokenize x.py
    python3 -m dis x.py
    python3 -m zipfile -l x.zip
    python3 -m tarfile -l x.tar
    python3 -m base64 -e x
    node --version
    node -v
    node --help
    node --check x.js
    node -c x.js
    ruby --version
    ruby -v
    perl -v
    perl --version
    php -v
    php -m
    php -l x.php
    php --ini
    lua -v
    luac -p x.lua
    deno --version
    java -version
    java --version
    R --version
    julia --version
    vim --version
    gdb --version
    sqlite3 --version
    sqlite3 -version
    sqlite3 x.db .tables
    sqlite3 x.db '.schema users'
    sqlite3 x.db 'select * from users'
    sqlite3 -header -csv x.db 'SELECT count(*), max(id) FROM users WHERE name LIKE "a%";'
    sqlite3 -readonly x.db 'select 1; select 2'
    sqlite3 -json x.db "select 'drop table x' as text"
    sqlite3 x.db 'with a as (select 1) select * from a where x in (1, 2)'
    sqlite3 x.db 'explain query plan select 1'
    sqlite3 x.db 'pragma table_info(users)'
    sqlite3 x.db 'PRAGMA user_version;'
    psql --version
    mysql --version
    redis-cli --version
""")

HOSTILE = lines(r"""
    python
    python -
    python x.py
    python3 manage.py migrate
    python -c 'print(1)'
    python3 -c 'import os; os.system("id")'
    python3 -Bc 'x'
    python3 -cprint
    python3 -ic x
    python3 -i
    python3 -i x.py
    python3 -m pytest
    python3 -m http.server
    python3 -m venv x
    python3 -m pip install x
    python3 -m json.tool in.json out.json
    python3 -m json.tool .env
    python3 -m json.tool "$x"
    python3 -m zipfile -e x.zip dir
    python3 -m tarfile -c x.tar y
    python3 -m timeit x
    python3 -m py_compile x.py
    python3 -m sysconfig --generate-posix-vars
    python3 -m "$x"
    python3 -m
    python3 $x
    python3 "$x"
    python3 -V x.py
    python3 --version x.py
    python3 -W -mjson.tool x
    python3 -X -mjson.tool x
    python3 -W $x -m json.tool
    python3 -x x.py
    python3 -Q -m json.tool x
    python3 --nonsense
    node
    node x.js
    node -e 'x'
    node -p 'process.version'
    node -pe x
    node --eval=x
    node --print x
    node -r ./x --check y.js
    node --check -r ./x y.js
    node --version x.js
    node --check
    node -i
    node $x
    node --test
    ruby x.rb
    ruby -e x
    ruby -ne x
    ruby -c x.rb
    ruby
    perl x.pl
    perl -e x
    perl -ne 'print' x
    perl -pi -e 's/a/b/' x
    perl -c x.pl
    perl -lane 'print' x
    perl -E x
    perl
    php x.php
    php -r 'x'
    php -S localhost:80
    php -l -d auto_prepend_file=x y.php
    php
    lua x.lua
    lua -e x
    lua
    luac x.lua
    deno run x.ts
    deno eval x
    deno fmt
    java -jar x.jar
    java Main
    java @args
    Rscript x.R
    R -e x
    irb
    ipython
    osascript -e x
    expect x
    tclsh
    gdb x
    gdb -batch -ex 'shell id'
    vim x
    vim -c '!id' x
    nano x
    emacs --batch --eval x
    sqlite3
    sqlite3 x.db
    sqlite3 .env .tables
    sqlite3 x.db '.shell id'
    sqlite3 x.db '.system id'
    sqlite3 x.db '.output x'
    sqlite3 x.db '.once x'
    sqlite3 x.db '.read x'
    sqlite3 x.db '.import a b'
    sqlite3 x.db '.load ./x'
    sqlite3 x.db '.backup x'
    sqlite3 x.db '.dump'
    sqlite3 x.db 'drop table x'
    sqlite3 x.db 'delete from x'
    sqlite3 x.db 'insert into x values (1)'
    sqlite3 x.db 'update x set a = 1'
    sqlite3 x.db 'select 1; drop table x'
    sqlite3 x.db 'with a as (select 1) delete from b'
    sqlite3 x.db "select writefile('x', 'y')"
    sqlite3 x.db "select WriteFile /* c */ ('x', 'y')"
    sqlite3 x.db "select [writefile]('x', 'y')"
    sqlite3 x.db "select load_extension('./x')"
    sqlite3 x.db "select edit('x', './y')"
    sqlite3 x.db "select readfile('/etc/shadow')"
    sqlite3 x.db "select * from fsdir('/')"
    sqlite3 x.db "attach 'y' as y"
    sqlite3 x.db 'vacuum into "y"'
    sqlite3 x.db 'pragma writable_schema = on'
    sqlite3 x.db 'pragma table_info(x); drop table y'
    sqlite3 x.db "$x"
    sqlite3 -cmd '.shell id' x.db 'select 1'
    sqlite3 -init x y.db 'select 1'
    sqlite3 -vfs x y.db 'select 1'
    sqlite3 $x 'select 1'
    sqlite3 x.db 'select 1' '.shell id'
    psql
    psql -c 'select 1'
    psql -l
    mysql -e 'select 1'
    mongosh x
    redis-cli get x
    pg_dump x
    dropdb x
    createdb x
""")

LEVELS = [
    ("python3 x.py", MEDIUM, Effect.EXEC),
    ("python3 -c x", MEDIUM, Effect.EXEC),
    ("python3", HIGH, Effect.EXEC),
    ("python3 -m pytest", MEDIUM, Effect.EXEC),
    ("python3 -m http.server", MEDIUM, Effect.NETWORK),
    ("python3 -m json.tool a b", LOW, Effect.WRITE),
    ("perl -ne x", MEDIUM, Effect.EXEC),
    ("node x.js", MEDIUM, Effect.EXEC),
    ("sqlite3 x.db 'drop table y'", HIGH, Effect.DELETE),
    ("sqlite3 x.db 'insert into y values (1)'", MEDIUM, Effect.WRITE),
    ("psql -c 'select 1'", MEDIUM, Effect.NETWORK),
    ("psql -c 'DROP DATABASE x'", HIGH, Effect.DELETE),
    ("redis-cli FLUSHALL", HIGH, Effect.DELETE),
    ("dropdb x", HIGH, Effect.DELETE),
]


@pytest.mark.parametrize("line", SAFE)
def test_versions_and_what_only_reads_are_free(line: str) -> None:
    assert is_allowed(line)


@pytest.mark.parametrize("line", HOSTILE)
def test_code_is_asked_about(line: str) -> None:
    assert is_asked(line)


@pytest.mark.parametrize(("line", "level", "effect"), LEVELS)
def test_a_call_has_its_level(line: str, level: Level, effect: Effect) -> None:
    assert is_asked_at(line, level, effect)


@pytest.mark.parametrize(
    "line", ["python", "python3 -", "node", "perl", "ruby -", "php", "lua", "node -", "python3 -u"]
)
def test_an_interpreter_that_runs_its_input_says_so(line: str) -> None:
    assert any(RUNS_INPUT in one.reason for one in judged(line).items)


@pytest.mark.parametrize("line", ["python x.py", "python -c x", "node x.js", "perl -e x", "python -m json.tool"])
def test_an_interpreter_with_a_program_does_not_run_its_input(line: str) -> None:
    assert not any(RUNS_INPUT in one.reason for one in judged(line).items)
