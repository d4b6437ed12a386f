"""Compilers, build tools, tests and linters: most run code of the project; a few only read.

Of some not even the version is free: mvn reads arguments for Java from the project, pytest runs its `conftest.py`.
"""

from hermitty.policy.options import Grammar
from hermitty.policy.programs.subcommands import asked
from hermitty.policy.programs.tables import Program, named

_SHELLCHECK = (
    "--help -V,--version -a,--check-sourced -C,--color? -i,--include: -e,--exclude: --extended-analysis: "
    "-f,--format: --list-optional --norc --rcfile:read -o,--enable: -P,--source-path: -s,--shell: -S,--severity: "
    "-W,--wiki-link-count: -x,--external-sources"
)
_YAMLLINT = (
    "-h,--help -v,--version -c,--config-file:read -d,--config-data: -f,--format: -s,--strict --no-warnings --list-files"
)
_TOKEI = (
    "-h,--help -V,--version -C,--compact -c,--columns: -e,--exclude: -f,--files -i,--input:read --hidden "
    "-l,--languages --no-ignore --no-ignore-parent --no-ignore-dot --no-ignore-vcs -o,--output: -s,--sort: "
    "-r,--rsort: -t,--types: -n,--num-format: -v,--verbose"
)
_CLOC = (
    "--help --version --by-file --by-file-by-lang --json --csv --yaml --xml --md --quiet --hide-rate --sum-one "
    "--include-lang: --exclude-dir: --exclude-ext: --include-ext: --exclude-lang: --fullpath --match-f: "
    "--not-match-f: --match-d: --not-match-d: --max-file-size: --show-lang --show-ext --out:write "
    "--report-file:write --extract-with:exec --git^exec --vcs:exec --script-lang: --config:exec --read-lang-def:exec "
    "--strip-comments:write --ignored:write --counted:write --categorized:write --found:write --sql:write "
    "--list-file:read --git-diff-all^exec"
)

PROGRAMS: dict[str, Program] = {
    "shellcheck": Grammar(_SHELLCHECK, "read*"),
    "yamllint": Grammar(_YAMLLINT, "read*"),
    "tokei": Grammar(_TOKEI, "name*"),
    "cloc": Grammar(_CLOC, "name*"),
    "pkg-config": Grammar(
        "--help --version --list-all --list-package-names --modversion --cflags --libs --libs-only-l --libs-only-L "
        "--libs-only-other --cflags-only-I --cflags-only-other --exists --print-errors --silence-errors --short-errors "
        "--static --variable: --print-variables --print-provides --print-requires --atleast-version: --exact-version: "
        "--max-version: --with-path:read --log-file:write",
        "plain*",
    ),
    **asked(
        """
    make gmake: medium exec runs commands of the project
    """,
        "--version -v --help -h",
    ),
    **asked("cmake ctest cpack: medium exec runs commands of the project", "--version -version --help -help -h"),
    **asked(
        """
    tsc: low write checks and translates the project
    eslint: low exec,write runs plug-ins of the project, or changes files
    gradle webpack vite: medium exec runs commands of the project
    jest: medium exec runs tests, which are code of the project
    gcc g++ cc c++ clang clang++ cpp gfortran: low write compiles files, and may load plug-ins
    """,
        "--version -v --help",
    ),
    **asked("rustc ghc: low write,exec compiles files, and may load plug-ins", "--version -V -vV --help"),
    **asked(
        "javac kotlinc ocamlc ocamlopt: low write,exec compiles files, and may load plug-ins", "--version -version"
    ),
    # Here `-v` means verbose, and the default target is made.
    **asked(
        """
    ninja samu bmake nmake ant meson scons rake just task zig swiftc stack cabal autoconf automake libtool: \
        medium exec runs commands of the project
    vitest cypress playwright bats gotestsum: medium exec runs tests, which are code of the project
    prettier stylelint biome oxlint: low exec,write runs plug-ins of the project, or changes files
    ruff black isort autopep8 yapf: low write checks or changes files
    mypy pyright bandit ty basedpyright: low exec runs plug-ins of the project
    golangci-lint staticcheck revive shfmt hadolint actionlint clang-format clang-tidy cppcheck: \
        low write checks or changes files
    tflint trivy semgrep grype syft: low network looks for weaknesses
    rollup esbuild parcel next: medium exec runs code of the project
    django-admin flask uvicorn gunicorn pre-commit: medium exec runs code of the project
    hugo pandoc doxygen: low write makes documents
    pdflatex latex xelatex lualatex latexmk tex: medium exec makes documents, which may run commands
    nasm ld as ranlib strip objcopy install_name_tool: low write writes files
    """,
        "--version --help",
    ),
    # These run code of the project for every call, or may.
    **asked(
        """
    mvn mvnd sbt bazel bazelisk buck2 waf grunt gulp invoke doit earthly pants nx turbo lerna msbuild xcodebuild mix \
        rebar3 lein dub fpm spack conan vcpkg autoreconf: medium exec runs commands of the project
    pytest py.test nose2 behave tap mocha ava karma phpunit pest rspec cucumber busted coverage locust k6 artillery: \
        medium exec runs tests, which are code of the project
    standard xo tslint markdownlint markdownlint-cli2 commitlint knip pylint flake8 vulture pydocstyle rubocop \
        standardrb brakeman phpcs phpstan psalm php-cs-fixer rector pyre pytype: low exec runs plug-ins of the project
    autoflake pyupgrade docformatter gofmt goimports cpplint include-what-you-use: low write checks or changes files
    husky lint-staged lefthook: medium exec runs commands that the project names
    checkov snyk: low network looks for weaknesses
    nuxt astro remix svelte-kit ng vue-cli-service react-scripts expo storybook swc babel hypercorn celery alembic \
        fastapi streamlit airflow dbt scrapy rails artisan symfony jekyll mkdocs sphinx-build typedoc: \
        medium exec runs code of the project
    """,
        "",
    ),
    **asked(
        "dotnet: medium exec,network builds or runs the project",
        "--version --info --list-sdks --list-runtimes --help -h",
    ),
    **asked("javadoc jar jarsigner jlink jpackage: low write writes files", "--version --help"),
    **named(
        "javap",
        Grammar(
            "--help --version -version -verbose -v -l -public -protected -package -p -private -c -s -constants -J:exec",
            "read*",
            single_dash=True,
        ),
    ),
}
