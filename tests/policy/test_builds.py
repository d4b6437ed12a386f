"""Build tools, tests and linters run code of the project: asked about, but for versions that only print."""

import pytest

from hermitty.policy.effects import Effect, Level, Verdict

from .judging import is_allowed, is_asked, judged, lines

LOW, MEDIUM = Level.LOW, Level.MEDIUM

SAFE = lines(r"""
    make --version
    make -v
    make --help
    ninja --version
    cmake --version
    cmake --help
    gradle --version
    gradle -v
    tsc --version
    tsc -v
    eslint --version
    prettier --version
    ruff --version
    black --version
    mypy --version
    jest --version
    gcc --version
    gcc -v
    g++ --version
    clang --version
    rustc --version
    rustc -V
    rustc -vV
    javac -version
    dotnet --version
    dotnet --info
    dotnet --list-sdks
    golangci-lint --version
    just --version
    rake --version
    ant --version
    shellcheck x.sh
    shellcheck -s bash -x ./x.sh
    shellcheck -f json -S warning x.sh y.sh
    yamllint .
    yamllint -d relaxed x.yml
    tokei
    tokei src -s lines
    cloc .
    cloc --json src
    pkg-config --modversion openssl
    pkg-config --cflags --libs gtk4
    javap -c Main
""")

HOSTILE = lines(r"""
    make
    make all
    make -n
    make -n all
    make --dry-run
    make --just-print
    make -p
    make -q
    make -C dir
    make -f x
    make --version all
    make clean
    make $x
    ninja
    ninja -v
    ninja -n
    ninja -t clean
    cmake .
    cmake -S . -B build
    cmake --build build
    cmake -E rm x
    cmake -P x.cmake
    ctest
    gradle build
    gradle tasks
    mvn --version
    mvn test
    ant
    ant -v
    rake
    rake -v
    just
    just -v
    just --list
    task -v
    bazel --version
    bazel build x
    sbt --version
    tsc
    tsc --noEmit
    tsc -p .
    eslint .
    eslint --fix src
    eslint --version src
    prettier --check .
    prettier -w x
    ruff check
    ruff check --fix
    ruff format
    black .
    mypy src
    mypy --version src
    pytest
    pytest --version
    pytest -q tests
    py.test
    jest
    vitest run
    mocha --version
    rspec
    phpunit
    pylint x
    pylint --version
    flake8
    flake8 --version
    rubocop
    pre-commit run
    webpack
    vite build
    next dev
    rails --version
    rails db:drop
    flask run
    alembic upgrade head
    gcc x.c
    gcc -E x.c
    gcc -fplugin=./x.so x.c
    gcc @args
    gcc -v x.c
    as -v
    as
    ld x.o
    rustc x.rs
    rustc -v x.rs
    javac X.java
    dotnet build
    dotnet run
    pandoc x.md -o y.html
    pdflatex x.tex
    shellcheck --rcfile=.env x.sh
    shellcheck .env
    shellcheck --nonsense x
    yamllint -c ~/.ssh/id_rsa x
    cloc --out=x .
    cloc --extract-with=./x .
    cloc --vcs=git .
    cloc --git HEAD
    cloc --config x .
    cloc $x
    tokei -i .env
""")

LEVELS = [
    ("make all", MEDIUM, Effect.EXEC),
    ("make -n", MEDIUM, Effect.EXEC),
    ("cmake --build x", MEDIUM, Effect.EXEC),
    ("pytest", MEDIUM, Effect.EXEC),
    ("eslint .", LOW, Effect.EXEC),
    ("ruff check", LOW, Effect.WRITE),
    ("mypy src", LOW, Effect.EXEC),
    ("tsc", LOW, Effect.WRITE),
    ("gcc x.c", LOW, Effect.WRITE),
    ("pre-commit run", MEDIUM, Effect.EXEC),
]


@pytest.mark.parametrize("line", SAFE)
def test_versions_and_readers_are_free(line: str) -> None:
    assert is_allowed(line)


@pytest.mark.parametrize("line", HOSTILE)
def test_what_runs_the_project_is_asked_about(line: str) -> None:
    assert is_asked(line)


@pytest.mark.parametrize(("line", "level", "effect"), LEVELS)
def test_a_call_has_its_level(line: str, level: Level, effect: Effect) -> None:
    found = judged(line)
    assert (found.verdict, found.level) == (Verdict.ASK, level), [one.reason for one in found.items]
    assert effect in {one.effect for one in found.items}


def test_the_reason_names_the_program() -> None:
    assert [one.reason for one in judged("make all").items] == ["make runs commands of the project"]
