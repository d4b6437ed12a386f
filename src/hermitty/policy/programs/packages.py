"""Package managers of languages: what is installed may be listed, everything else runs code or uses the network.

Some run code of the project for every call, also for one that lists: yarn (`yarnPath`), pnpm (`.pnpmfile.cjs`),
bundler (the Gemfile is a program) and composer (plugins). Of those only the version is free, if that.
"""

from collections.abc import Sequence

from hermitty.policy.arguments import Arg
from hermitty.policy.context import Judge
from hermitty.policy.effects import Effect, Finding, Level
from hermitty.policy.options import Grammar
from hermitty.policy.programs.subcommands import Asked, Tool, asked, run, worse
from hermitty.policy.programs.tables import Program, named

# Any setting of npm can be an option: those that name a program or a file are dangerous.
_NPM_GLOBAL = (
    "-v,--version -h,--help -s,--silent -d,--verbose -q,--quiet --loglevel: --no-color --color? -g,--global "
    "--location: --prefix: -w,--workspace: --workspaces --json --no-update-notifier --offline "
    "--script-shell:exec --shell:exec --node-options:exec --userconfig:exec --globalconfig:exec --git:exec "
    "--viewer:exec --editor:exec --browser:exec --cache:write --logs-dir:write --registry:network "
)
_NPM_LIST = Grammar(
    _NPM_GLOBAL + "-a,--all -l,--long -p,--parseable --depth: --prod --production --dev --only: --omit: --include: "
    "--link --package-lock-only --unicode --no-unicode --install-links",
    "plain*",
)
_NPM_INFORMS = Grammar(_NPM_GLOBAL + "-a,--all -l,--long --depth:", "plain*")
_NPM = {
    **named("ls list ll la", _NPM_LIST),
    **named("explain why query root prefix bin help help-search get completion", _NPM_INFORMS),
    "pkg": Tool({"get": _NPM_INFORMS}, _NPM_GLOBAL, other=Asked(Level.LOW, (Effect.WRITE,), "changes package.json")),
    **asked("""
    view v info show search s se find outdated audit ping doctor repo bugs docs home fund stars: \
        low network asks a registry, or opens a browser
    whoami profile team org access owner dist-tag: medium network,credentials uses your account at a registry
    login logout adduser add-user token: high credentials changes or shows your account at a registry
    publish unpublish deprecate: high network changes a package that others use
    install i in ins inst add isntall ci clean-install ic it cit install-test update up upgrade udpate: \
        medium network,exec installs packages and runs their scripts
    uninstall un unlink remove rm r prune dedupe ddp rebuild rb link ln: \
        medium write,exec changes installed packages and runs scripts
    run run-script rum urn test t tst start stop restart: medium exec runs a script of the project
    exec x init create innit explore edit: medium network,exec runs code of a package
    pack version shrinkwrap cache set config set-script: medium write changes files or settings, and may run scripts
    """),
}
_NPM["config"] = _NPM["c"] = Tool(
    {"get": _NPM_INFORMS, "list": _NPM_INFORMS, "ls": _NPM_INFORMS}, _NPM_GLOBAL, other=_NPM["config"]
)


def _unless_alone(program: Program, alone: Program) -> Program:
    """Judge a call without arguments in another way."""

    def judge_call(name: str, args: Sequence[Arg], judge: Judge) -> list[Finding]:
        return run(program if args else alone, name, args, judge)

    return judge_call


# Without a name, these list scripts and print versions.
_NPM["run"] = _NPM["run-script"] = _unless_alone(_NPM["run"], _NPM_INFORMS)
_NPM["version"] = _unless_alone(_NPM["version"], _NPM_INFORMS)
_NPM["audit"] = worse(_NPM["audit"], "fix", Level.MEDIUM, Effect.EXEC, "installs packages")

_RUNS_PACKAGES = "runs code of packages or of the project"
# It may be another program: not even its help is free.
_OTHER = Asked(Level.MEDIUM, (Effect.EXEC,), _RUNS_PACKAGES, frozenset())

_PIP_GLOBAL = (
    "-h,--help -V,--version -v,--verbose -q,--quiet --debug --isolated --require-virtualenv --no-input --no-color "
    "--disable-pip-version-check --no-python-version-warning --no-cache-dir --use-feature: --use-deprecated: "
    "--timeout: --retries: --exists-action: --python:exec --log,--log-file,--local-log:write "
    "--cache-dir:write --proxy:network --trusted-host:network --keyring-provider:exec --cert:read --client-cert:read "
)
_PIP_INDEX = (
    "-i,--index-url,--pypi-url:network --extra-index-url:network -f,--find-links:network --no-index --pre "
    "-o,--outdated^network -u,--uptodate^network "
)
_PIP = {
    "list": Grammar(
        _PIP_GLOBAL + _PIP_INDEX + "-e,--editable -l,--local --user --path: --format: --not-required "
        "--exclude-editable --include-editable --exclude:",
        "",
    ),
    "show": Grammar(_PIP_GLOBAL + "-f,--files", "plain*"),
    "freeze": Grammar(
        _PIP_GLOBAL + "-r,--requirement:read -l,--local --user --path: --all --exclude-editable --exclude:", ""
    ),
    "check": Grammar(_PIP_GLOBAL, ""),
    "inspect": Grammar(_PIP_GLOBAL + "-l,--local --user --path:", ""),
    "hash": Grammar(_PIP_GLOBAL + "-a,--algorithm:", "read*"),
    "help": Grammar(_PIP_GLOBAL, "plain*"),
    "debug": Grammar(_PIP_GLOBAL, ""),
    "cache": Tool(
        {
            "dir": Grammar(_PIP_GLOBAL, ""),
            "info": Grammar(_PIP_GLOBAL, ""),
            "list": Grammar(_PIP_GLOBAL + "--format:", "plain*"),
        },
        _PIP_GLOBAL,
        other=Asked(Level.LOW, (Effect.DELETE,), "deletes cached packages"),
    ),
    **asked("""
    install wheel download lock: medium network,exec gets packages and runs their build scripts
    uninstall: medium delete removes packages
    index search: low network asks a package index
    config: medium credentials shows or changes settings, which may hold passwords
    """),
}
_PIP_TOOL = Tool(_PIP, _PIP_GLOBAL)

_UV_GLOBAL = (
    "-h,--help -V,--version -v,--verbose -q,--quiet --color: --no-progress --offline --no-cache "
    "--directory:ask --project:ask --config-file:exec --cache-dir:write -p,--python:exec "
)
_UV_PIP = {
    "list": Grammar(
        _UV_GLOBAL + "-e,--editable --exclude-editable --exclude: --format: --system --outdated^network", ""
    ),
    "show": Grammar(_UV_GLOBAL + "-f,--files --system", "plain*"),
    "freeze": Grammar(_UV_GLOBAL + "--exclude-editable --system --path:", ""),
    "check": Grammar(_UV_GLOBAL + "--system", ""),
    "tree": Grammar(_UV_GLOBAL + "-d,--depth: --prune: --package: --invert --system --outdated^network", ""),
    **asked("""
    install sync compile: medium network,exec gets packages and runs their build scripts
    uninstall: medium delete removes packages
    """),
}
_UV: dict[str, Program] = {
    "pip": Tool(_UV_PIP, _UV_GLOBAL),
    "version": Grammar(_UV_GLOBAL + "--short --output-format: --bump:change --dry-run", "change*"),
    "help": Grammar(_UV_GLOBAL, "plain*"),
    **asked("""
    run tool x: medium exec,network runs code of packages or of the project
    add remove sync lock init venv build export tree python: medium network,exec changes the project or its packages
    publish auth: high network,credentials uses your account at a registry
    cache self: medium write changes files of uv
    """),
}
_POETRY_GLOBAL = (
    "-h,--help -V,--version -v -q,--quiet -n,--no-interaction --ansi --no-ansi --no-cache --no-plugins "
    "-C,--directory:ask -P,--project:ask "
)
_POETRY: dict[str, Program] = {
    "show": Grammar(
        _POETRY_GLOBAL + "-t,--tree --why --only: --with: --without: -a,--all -T,--top-level --no-truncate "
        "-l,--latest^network -o,--outdated^network",
        "plain*",
    ),
    "check": Grammar(_POETRY_GLOBAL + "--lock --strict", ""),
    "about": Grammar(_POETRY_GLOBAL, ""),
    "list": Grammar(_POETRY_GLOBAL, "plain*"),
    "help": Grammar(_POETRY_GLOBAL, "plain*"),
    **asked("""
    run shell: medium exec runs code of the project
    install add update remove sync lock build init new self cache env version: \
        medium network,exec changes the project or its packages
    publish: high network changes a package that others use
    config: medium credentials shows or changes settings, which may hold passwords
    search: low network asks a package index
    """),
}
_PIPX: dict[str, Program] = {
    "list": Grammar("-h,--help --json --short --include-injected --verbose --skip-maintenance -q,--quiet --global", ""),
    "environment": Grammar("-h,--help -V,--value: --verbose", ""),
    **asked("""
    run runpip install inject upgrade upgrade-all reinstall reinstall-all install-all: \
        medium network,exec gets packages and runs their code
    uninstall uninstall-all uninject: medium delete removes packages
    ensurepath: medium session changes the settings of shells
    """),
}
_CONDA_GLOBAL = "-h,--help -V,--version -v,--verbose -q,--quiet --json -n,--name: -p,--prefix: --no-plugins "
_CONDA: dict[str, Program] = {
    "list": Grammar(
        _CONDA_GLOBAL + "-c,--canonical -f,--full-name -e,--export -r,--revisions --explicit --md5 --no-pip "
        "--show-channel-urls",
        "plain*",
    ),
    "info": Grammar(_CONDA_GLOBAL + "-a,--all -e,--envs --base -s,--system --unsafe-channels^ask", ""),
    "env": Tool(
        {"list": Grammar(_CONDA_GLOBAL, "")},
        "-h,--help",
        other=Asked(Level.MEDIUM, (Effect.NETWORK, Effect.EXEC), "changes environments"),
    ),
    **asked("""
    run: medium exec runs a program in an environment
    install create update upgrade build init activate deactivate: medium network,exec changes environments
    remove uninstall clean: medium delete removes packages
    search: low network asks a package index
    config: medium write,credentials shows or changes settings, which may hold passwords
    """),
}
_GEM_GLOBAL = "-h,--help -v,--version -q,--quiet -V,--verbose --no-verbose --silent --config-file:exec --debug "
_GEM: dict[str, Program] = {
    "list": Grammar(
        "-h,--help -q,--quiet -i,--installed -I -d,--details --no-details --versions --no-versions -a,--all "
        "-e,--exact --prerelease -l,--local -v,--version: -r,--remote^network -b,--both^network -s,--source:network "
        "--config-file:exec",
        "plain*",
    ),
    **named("environment env", Grammar(_GEM_GLOBAL, "plain*")),
    "which": Grammar(_GEM_GLOBAL + "-a,--all -g,--gems-first", "plain*"),
    "contents": Grammar(
        "-h,--help --all -s,--spec-dir:read -l,--lib-only --prefix --no-prefix --config-file:exec", "plain*"
    ),
    "help": Grammar(_GEM_GLOBAL, "plain*"),
    **asked("""
    install update pristine exec build: medium network,exec gets packages and runs their code
    uninstall cleanup: medium delete removes packages
    search outdated info dependency specification fetch: low network asks a registry
    push yank owner signin signout: high network,credentials uses your account at a registry
    """),
}
_CARGO: dict[str, Program] = {
    **named(
        "version help locate-project",
        Grammar("-h,--help -v,--verbose --list --message-format: --config:exec", "plain*"),
    ),
    **asked("""
    build b check c clippy doc d fix test t bench run r rustc rustdoc miri nextest expand watch: \
        medium exec builds the project, which runs code of it and of packages
    install binstall add update fetch vendor generate-lockfile: medium network,exec changes packages
    uninstall remove rm clean: medium delete removes packages or what was built
    tree metadata pkgid verify-project read-manifest package: low exec runs the compiler that the project names
    search info: low network asks a registry
    publish yank owner login logout: high network,credentials uses your account at a registry
    fmt: low write changes files
    new init: low write makes a project
    """),
}
_GO_GLOBAL = "-help -h -C:ask -toolexec:exec -overlay:read -modfile:read -exec:exec "
_GO: dict[str, Program] = {
    "version": Grammar(_GO_GLOBAL + "-m -v", "read*", single_dash=True),
    "env": Grammar(_GO_GLOBAL + "-json -changed -w^change -u^change", "plain*", single_dash=True),
    "list": Grammar(
        _GO_GLOBAL + "-f: -json? -m -deps -test -e -find -tags: -mod:ask -u^network -versions^network "
        "-retracted^network -export^exec -compiled^exec",
        "plain*",
        single_dash=True,
    ),
    "help": Grammar("", "plain*"),
    "doc": Grammar(_GO_GLOBAL + "-all -c -cmd -short -src -u -http^network", "plain*", single_dash=True),
    **asked("""
    build install run test vet generate tool fix: medium exec builds or runs code of the project
    get mod work: medium network,write changes packages
    fmt: low write changes files
    clean: low delete removes what was built
    bug telemetry: low network reports to others
    """),
}
_BUN = Asked(
    Level.MEDIUM, (Effect.EXEC, Effect.NETWORK), _RUNS_PACKAGES, frozenset(("--version", "-v", "--help", "-h"))
)

PROGRAMS: dict[str, Program] = {
    "npm": Tool(_NPM, _NPM_GLOBAL, other=_OTHER),
    **named("pip pip3 pip3.9 pip3.10 pip3.11 pip3.12 pip3.13 pip3.14", _PIP_TOOL),
    "uv": Tool(_UV, _UV_GLOBAL, other=_OTHER),
    "poetry": Tool(_POETRY, _POETRY_GLOBAL, other=_OTHER),
    "pipx": Tool(_PIPX, "-h,--help --version -q,--quiet"),
    **named("conda mamba micromamba", Tool(_CONDA, _CONDA_GLOBAL)),
    "gem": Tool(_GEM, _GEM_GLOBAL),
    "cargo": Tool(
        _CARGO,
        "-h,--help -V,--version -v,--verbose -q,--quiet --list --offline --locked --frozen --color: --explain: "
        "--config:exec -Z:ask -C:ask",
        other=Asked(Level.MEDIUM, (Effect.EXEC,), "is an alias of the project or another program", frozenset()),
    ),
    "go": Tool(_GO, "-help -h --help", single_dash=True),
    **asked("pnpm npx: medium exec,network " + _RUNS_PACKAGES, "--version -v --help -h"),
    "bun": _BUN,
    # The project chooses the program that even tells the version.
    **asked("yarn yarnpkg composer tox pdm bunx pnpx: medium exec,network " + _RUNS_PACKAGES, ""),
    **asked("bundle bundler: medium exec,network " + _RUNS_PACKAGES, "--version -v"),
    **asked(
        """
    uvx nox hatch pipenv rye flit twine: medium exec,network runs code of packages or of the project
    easy_install: medium exec,network gets packages and runs their code
    corepack nvm fnm volta pyenv rbenv asdf mise rustup sdk: medium network,exec changes which versions of programs run
    """,
        "--version --help",
    ),
}
