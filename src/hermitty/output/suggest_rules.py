"""What to suggest after a command: data for `suggest`, which knows how to read it.

A rule holds when the command failed (or succeeded) and its pattern is found in the output. Its templates are lists of
words; `{name}` stands for a group of the pattern (`name2` is another way to find it) or a value that `suggest` derives,
`*name` for several words of the caller's own. `{operand}` must be a word of the command line. Every word is quoted as a
whole, so no value can become more than one word.

Patterns look at one line, start at its beginning and have bounded repeats: output is hostile, and they must stay quick.
"""

from dataclasses import dataclass
from typing import Literal

Confidence = Literal["high", "medium", "low"]


@dataclass(frozen=True, slots=True)
class Template:
    """One command to suggest, as words, and why."""

    words: tuple[str, ...]
    reason: str
    confidence: Confidence = "medium"
    shells: Literal["any", "posix", "windows"] = "any"
    needs: str | None = None  # a program without which it is not suggested


@dataclass(frozen=True, slots=True)
class Rule:
    """When to suggest what."""

    name: str
    templates: tuple[Template, ...]
    pattern: str | None = None
    # The program, or the program and its first words, of one command of the line; none: any program.
    programs: tuple[str, ...] = ()
    after: Literal["failure", "success"] = "failure"
    takes: Literal["first", "last"] = "first"  # which of the lines that match


def _t(
    words: str,
    reason: str,
    confidence: Confidence = "medium",
    *,
    shells: Literal["any", "posix", "windows"] = "any",
    needs: str | None = None,
) -> Template:
    return Template(tuple(words.split(" ")), reason, confidence, shells, needs)


FAILURES: tuple[Rule, ...] = (
    Rule(
        "missing script tool",
        (
            _t(
                "*js_install_all",
                "a tool that the script needs is not there; the project's packages may not be installed",
            ),
        ),
        r"^(?:sh|/bin/sh|bash)(?:: (?:line )?\d{1,6})?: [\w@./-]{1,80}: (?:command )?not found\s*$",
        ("npm", "yarn", "pnpm", "bun"),
    ),
    Rule(
        "command not found",
        (_t("{corrected}", "{unknown} is not a command here; {nearest} is the nearest name on PATH", "high"),),
        r"^(?:[\w./-]{1,80}: (?:line \d{1,6}: |\d{1,6}: )?(?P<unknown>[^\s:'\"]{1,80}): (?:command )?not found"
        r"|[\w./-]{1,80}(?::\d{1,6})?: command not found: (?P<unknown2>[^\s:'\"]{1,80})"
        r"|fish: Unknown command: (?P<unknown3>[^\s'\"]{1,80})"
        r"|(?:[^\s:]{1,80}: )?(?:The term )?'(?P<unknown4>[^\s'\"]{1,80})' is not recognized as )",
    ),
    Rule(
        "git command misspelt",
        (_t("{corrected}", "git has no command {unknown}; {nearest} is the nearest", "high"),),
        r"^git: '(?P<unknown>[\w-]{1,40})' is not a git command\.",
        ("git",),
    ),
    Rule(
        "missing Python module",
        (_t("*py_install {package}", "the Python module {module} is not installed where the command ran"),),
        r"^(?:ModuleNotFoundError: |ImportError: |E {1,12}ModuleNotFoundError: |[\w./-]{1,200}: )"
        r"No module named '?(?P<module>[A-Za-z_]\w{0,60})\b",
    ),
    Rule(
        "missing Node module",
        (_t("*js_install {package}", "the Node package {module} is not installed where the command ran"),),
        r"^(?:Uncaught )?Error(?: \[ERR_MODULE_NOT_FOUND\])?: Cannot find (?:module|package) "
        r"'(?P<module>(?:@[a-z0-9][\w.-]{0,60}/)?[a-z0-9][\w.-]{0,60})(?:/[\w./-]{0,100})?'",
    ),
    Rule(
        "missing Node module, found by a compiler",
        (_t("*js_install {package}", "the package {module} is not installed where the command ran"),),
        r"^[^\n]{1,200}: error TS2307: Cannot find module "
        r"'(?P<module>(?:@[a-z0-9][\w.-]{0,60}/)?[a-z0-9][\w.-]{0,60})(?:/[\w./-]{0,100})?'",
    ),
    Rule(
        "missing Go package",
        (_t("go get {package}", "go names the package that is missing"),),
        r"^[^\n]{0,200}?no required module provides package (?P<package>[a-z0-9][\w.-]{0,60}(?:/[\w.-]{1,60}){1,8});",
        ("go",),
    ),
    Rule(
        "not executable",
        (_t("chmod +x {script}", "{script} is there, but is not marked as executable", "high", shells="posix"),),
        r"^(?:[\w./-]{1,80}: (?:line \d{1,6}: |\d{1,6}: )?(?P<script>[^\n]{1,200}): Permission denied"
        r"|[\w./-]{1,80}(?::\d{1,6})?: permission denied: (?P<script2>[^\n]{1,200})"
        r"|fish: [^\n]{0,80}?'(?P<script3>[^'\n]{1,200})' exists but is not an executable file)",
    ),
    Rule(
        "permission denied",
        (_t("ls -ld {operand}", "shows who owns {operand} and who may use it", "low", shells="posix"),),
        r"^[\w./-]{1,80}: (?:cannot [a-z ]{1,40} )?['‘]?(?P<operand>[^\n'’:]{1,200})['’]?: Permission denied",
    ),
    Rule(
        "git without upstream",
        (
            _t(
                "git push --set-upstream {remote} {branch}",
                "the branch has no upstream yet; git names this command",
                "high",
            ),
        ),
        r"^ {4}git push --set-upstream (?P<remote>\S{1,100}) (?P<branch>\S{1,200})\s*$",
        ("git",),
    ),
    Rule(
        "git pull without tracking",
        (_t("git branch -vv", "the branch tracks nothing; this shows which branches do"),),
        r"^There is no tracking information for the current branch\.",
        ("git",),
    ),
    Rule(
        "git push rejected",
        (_t("git pull --rebase", "the remote branch has commits that are not here; take them first"),),
        r"^ ! \[rejected\][^\n]{1,300}\((?:fetch first|non-fast-forward)\)",
        ("git",),
    ),
    Rule(
        "not a git repository",
        (
            _t(
                "find . -maxdepth 2 -name .git",
                "lists the repositories just below this directory",
                "medium",
                shells="posix",
            ),
            _t("git init", "only if this directory is to become a repository", "low"),
        ),
        r"^fatal: not a git repository\b",
        ("git",),
    ),
    Rule(
        "merge conflict",
        (
            _t("git diff --name-only --diff-filter=U", "lists the files that still have conflicts", "high"),
            _t("git diff -- {path}", "shows both sides of the first conflict"),
            _t("git {operation} --abort", "goes back to before the {operation}", "low"),
        ),
        r"^CONFLICT \([^)\n]{1,80}\): Merge conflict in (?P<path>[^\n]{1,300})$",
        ("git",),
    ),
    Rule(
        "git would overwrite changes",
        (_t("git stash", "puts the local changes aside; `git stash pop` brings them back"),),
        r"^error: Your local changes to the following files would be overwritten by ",
        ("git",),
    ),
    Rule(
        "nothing staged",
        (_t("git status --short", "nothing was staged for the commit; this shows what could be"),),
        r"^(?:no changes added to commit|nothing added to commit but untracked files present)",
        ("git",),
    ),
    Rule(
        "unknown git name",
        (_t("git branch --all", "{operand} is neither a branch nor a file that git knows; this lists the branches"),),
        r"^error: pathspec '(?P<operand>[^'\n]{1,200})' did not match any file",
        ("git",),
    ),
    Rule(
        "pytest failed",
        (
            _t("*runner {test}", "runs only the first test that failed", "high"),
            _t("*runner --last-failed", "runs the tests that failed"),
        ),
        r"^(?:FAILED|ERROR) (?P<test>(?! )[^\n]{1,380}?)(?: - [^\n]*)?$",
        ("pytest",),
    ),
    Rule(
        "unittest failed",
        (_t("*runner {test}", "runs only the first test that failed", "high"),),
        r"^(?:FAIL|ERROR): \w{1,100} \((?P<test>\w[\w.]{1,300})\)",
        ("unittest",),
    ),
    Rule(
        "go test failed",
        (_t("go test -run ^{test}$ ./...", "runs only the first test that failed", "high"),),
        r"^--- FAIL: (?P<test>Test\w{0,100}) \(",
        ("go test",),
    ),
    Rule(
        "cargo test failed",
        (_t("cargo test {test} -- --exact", "runs only the first test that failed", "high"),),
        r"^test (?P<test>\w[\w:]{0,200}) \.\.\. FAILED",
        ("cargo test",),
    ),
    Rule(
        "JavaScript test failed",
        (_t("npx jest {test}", "runs only the file with the first test that failed", "medium"),),
        r"^ ?FAIL +(?P<test>[\w@./-]{1,200}\.[cm]?[jt]sx?)\b",
        ("jest", "npx jest"),
    ),
    Rule(
        "JavaScript test failed",
        (_t("npx vitest run {test}", "runs only the file with the first test that failed", "medium"),),
        r"^ ?FAIL +(?P<test>[\w@./-]{1,200}\.[cm]?[jt]sx?)\b",
        ("vitest", "npx vitest"),
    ),
    Rule(
        "port in use",
        (
            _t(
                "lsof -nP -iTCP:{port} -sTCP:LISTEN",
                "shows who listens on port {port}",
                "high",
                shells="posix",
                needs="lsof",
            ),
            _t("ss -ltnp sport = :{port}", "shows who listens on port {port}", "high", shells="posix", needs="ss"),
            _t("netstat -ano -p TCP", "shows who listens on port {port}", "medium", shells="windows"),
        ),
        r"^(?:[^\n]{0,300}?(?:EADDRINUSE|[Aa]ddress already in use)[^\n]{0,100}?:(?P<port>\d{2,5})\b"
        r"|[^\n]{0,200}?[:,] ?(?P<port2>\d{2,5})\)?: (?:bind: )?[Aa]ddress already in use"
        r"|Port (?P<port3>\d{2,5}) is (?:already )?in use\b)",
    ),
    Rule(
        "missing npm script",
        (_t("npm run", "lists the scripts that there are", "high"),),
        r"^npm (?:ERR!|error) [Mm]issing script: ",
        ("npm",),
    ),
    Rule(
        "compiler error",
        (
            _t(
                "sed -n {from},{to}p {file}",
                "shows the lines around the first error, {file}:{line}",
                "high",
                shells="posix",
            ),
        ),
        r"^(?:(?P<file>[^\s:()\n][^:()\n]{0,200}):(?P<line>\d{1,6})(?::\d{1,6})?: (?:fatal )?error\b"
        r"|(?P<file2>[^\s:()\n][^:()\n]{0,200})\((?P<line2>\d{1,6})(?:,\d{1,6})?\): error\b"
        r"| {1,8}--> (?P<file3>[^\s:()\n][^:()\n]{0,200}):(?P<line3>\d{1,6}):\d{1,6}$"
        r"|(?P<file4>(?:\./)?[\w./-]{1,200}\.go):(?P<line4>\d{1,6}):\d{1,6}: )",
    ),
    Rule(
        "Python error",
        (_t("sed -n {from},{to}p {file}", "shows the lines around {file}:{line}", "medium", shells="posix"),),
        r'^ {2}File "(?P<file>[^"\n]{1,200})", line (?P<line>\d{1,6})',
        takes="last",
    ),
    Rule(
        "missing parent directory",
        (_t("mkdir -p {operand}", "makes the directories above it as well", "high", shells="posix"),),
        r"^mkdir: (?:cannot create directory )?['‘]?(?P<operand>[^\n'’:]{1,200})['’]?: No such file or directory",
        ("mkdir",),
    ),
    Rule(
        "no such file",
        (_t("ls -la {parent}", "shows what there is in {parent}", shells="posix"),),
        r"^(?:[\w./-]{1,80}: ){1,3}(?:(?:line )?\d{1,6}: )?(?:cd: )?(?:cannot [a-z ]{1,40} )?"
        r"['‘]?(?P<operand>[^\n'’:]{1,200})['’]?: No such file or directory",
    ),
    Rule(
        "disk full",
        (_t("df -h .", "shows how full the disk of this directory is", "high", shells="posix"),),
        r"^[^\n]{0,300}?No space left on device",
    ),
    Rule(
        "no rule to make it",
        (_t("grep -nE ^[A-Za-z0-9_.-]+: Makefile", "lists the targets of the Makefile", shells="posix"),),
        r"^make(?:\[\d{1,3}\])?: \*\*\* No rule to make target ",
        ("make",),
    ),
)

SUCCESSES: tuple[Rule, ...] = tuple(
    Rule(name, templates, programs=programs, after="success")
    for name, programs, templates in (
        ("cloned", ("git clone",), (_t("cd {clone}", "the repository was cloned into it", "high"),)),
        ("directory made", ("mkdir",), (_t("cd {made}", "the directory was made", "low"),)),
        (
            "built",
            ("npm run build", "npm run-script build", "tsc", "npx tsc"),
            (_t("npm test", "the build succeeded; test it"), _t("npm start", "the build succeeded; run it", "low")),
        ),
        (
            "built",
            ("yarn build", "yarn run build"),
            (_t("yarn test", "the build succeeded; test it"), _t("yarn start", "the build succeeded; run it", "low")),
        ),
        (
            "built",
            ("pnpm build", "pnpm run build"),
            (_t("pnpm test", "the build succeeded; test it"), _t("pnpm start", "the build succeeded; run it", "low")),
        ),
        (
            "built",
            ("cargo build", "cargo check"),
            (_t("cargo test", "the build succeeded; test it"), _t("cargo run", "the build succeeded; run it", "low")),
        ),
        (
            "built",
            ("go build", "go vet"),
            (_t("go test ./...", "the build succeeded; test it"), _t("go run .", "the build succeeded; run it", "low")),
        ),
        ("built", ("make all", "make build"), (_t("make test", "the build succeeded; test it"),)),
        ("built", ("cmake --build",), (_t("ctest --test-dir {third}", "the build succeeded; test it"),)),
        (
            "built",
            ("dotnet build",),
            (_t("dotnet test", "the build succeeded; test it"), _t("dotnet run", "the build succeeded; run it", "low")),
        ),
        ("built", ("mvn compile", "mvn package"), (_t("mvn test", "the build succeeded; test it"),)),
        ("built", ("gradle build", "gradle assemble"), (_t("gradle test", "the build succeeded; test it"),)),
        ("built", ("gradlew build", "gradlew assemble"), (_t("./gradlew test", "the build succeeded; test it"),)),
        ("built", ("docker compose build",), (_t("docker compose up", "the images are built; run them"),)),
        (
            "packages installed",
            ("npm install", "npm ci", "npm i"),
            (_t("npm test", "the packages are installed; test the project", "low"),),
        ),
        (
            "environment made",
            ("venv", "virtualenv"),
            (_t(". {activate}", "the environment was made; use it in this shell", shells="posix"),),
        ),
        ("staged", ("git add",), (_t("git diff --cached --stat", "shows what the next commit will hold"),)),
        ("committed", ("git commit",), (_t("git log -1 --stat", "shows the commit"),)),
        ("directory changed", ("cd",), (_t("ls -la", "shows what is in the directory", "low", shells="posix"),)),
    )
)
# `make` alone builds whatever the project calls its default.
SUCCESSES_ALONE: dict[str, Template] = {
    "make": _t("make test", "the build succeeded; test it", "low"),
    "ninja": _t("ninja test", "the build succeeded; test it", "low"),
}

# Names of modules that differ from the names of the packages they come in.
PACKAGE_OF_MODULE = {
    "attr": "attrs", "bs4": "beautifulsoup4", "Crypto": "pycryptodome", "cv2": "opencv-python",
    "dateutil": "python-dateutil", "dotenv": "python-dotenv", "fitz": "pymupdf", "git": "GitPython",
    "jose": "python-jose", "jwt": "PyJWT", "magic": "python-magic", "MySQLdb": "mysqlclient", "OpenSSL": "pyOpenSSL",
    "PIL": "pillow", "pkg_resources": "setuptools", "psycopg2": "psycopg2-binary", "serial": "pyserial",
    "skimage": "scikit-image", "sklearn": "scikit-learn", "slugify": "python-slugify", "usb": "pyusb",
    "yaml": "PyYAML", "zmq": "pyzmq",
}  # fmt: skip
# Modules of the project itself, most likely: a package of that name would be somebody else's.
LOCAL_MODULES = frozenset(
    {
        "app",
        "apps",
        "common",
        "config",
        "conftest",
        "core",
        "db",
        "helpers",
        "lib",
        "main",
        "models",
        "server",
        "settings",
    }
    | {"setup", "src", "test", "tests", "utils", "api", "cli"}
)

JS_INSTALL = {"yarn": ("yarn", "add"), "pnpm": ("pnpm", "add"), "bun": ("bun", "add"), "bunx": ("bun", "add")}
JS_INSTALL_ALL = {"yarn": ("yarn", "install"), "pnpm": ("pnpm", "install"), "bun": ("bun", "install")}
PY_INSTALL = {
    "uv": ("uv", "add"),
    "uvx": ("uv", "add"),
    "poetry": ("poetry", "add"),
    "pipenv": ("pipenv", "install"),
    "pdm": ("pdm", "add"),
    "rye": ("rye", "add"),
    "conda": ("conda", "install"),
}

# After a listing: the files that say what a directory is, the telling ones first.
TELLING_FILES = (
    *("README.md", "README.rst", "README.txt", "README", "pyproject.toml", "package.json", "Cargo.toml", "go.mod"),
    *("Makefile", "CMakeLists.txt", "pom.xml", "build.gradle", "setup.py", "requirements.txt", "docker-compose.yml"),
)
TEXT_ENDINGS = (
    *(".md", ".txt", ".rst", ".toml", ".json", ".yaml", ".yml", ".ini", ".cfg", ".py", ".js", ".ts", ".tsx", ".jsx"),
    *(".c", ".h", ".cpp", ".hpp", ".rs", ".go", ".java", ".rb", ".sh", ".html", ".css", ".sql", ".log", ".csv", ".xml"),
)

GIT_COMMANDS = (
    *("add", "bisect", "blame", "branch", "checkout", "cherry-pick", "clean", "clone", "commit", "config", "describe"),
    *("diff", "fetch", "grep", "init", "log", "merge", "mv", "pull", "push", "rebase", "reflog", "remote", "reset"),
    *("restore", "revert", "rm", "show", "stash", "status", "submodule", "switch", "tag", "worktree"),
)
