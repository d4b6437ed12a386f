"""git: sub-commands that read run without a question, unless an option writes or runs something.

The settings of the repository itself (hooks, filters, `core.fsmonitor`) are taken as the user's own: git does not copy
them from elsewhere. Settings on the command line are not, nor is a repository that is named by its `.git` directory.
"""

import fnmatch
import posixpath
import re
from collections.abc import Sequence
from dataclasses import replace

from hermitty.policy import places
from hermitty.policy.arguments import Arg
from hermitty.policy.context import Judge, Surroundings
from hermitty.policy.effects import Effect, Finding, Level
from hermitty.policy.findings import ask, unclear
from hermitty.policy.options import Given, Grammar, Parsed, rest
from hermitty.policy.programs import git_tables as tables
from hermitty.policy.programs.git_changes import CHANGES
from hermitty.policy.programs.subcommands import Asked, Tool, asked, is_help, run
from hermitty.policy.programs.tables import Handler, Program

_TEMPORARY = re.compile(r"/(?:private/)?(?:tmp|var/tmp|dev/shm)(?:/.*)?")
_SIGNATURES = re.compile(r"%[-+ ]?G|%\(\*?signature|^-?\*?signature")
# Settings with formats and keys for sorting.
_SHOWING = re.compile(r"format\.pretty|(?:tag|branch)\.sort", re.IGNORECASE)
_NO = ("=false", "=no", "=off", "=0", "=")
_BARE = re.compile(r"[^/]+\.git")
_MAGIC = re.compile(r":(?:\((?P<words>[^)]*)\)|(?P<signs>[/!^]+):?)")
_HIDDEN_SECRETS = (".env", ".env.local", ".netrc", ".npmrc", ".pgpass", ".git-credentials")
_GLOBAL = Grammar(tables.GLOBAL, "ask*", permutes=False)


def _git(name: str, args: Sequence[Arg], judge: Judge) -> list[Finding]:
    parsed = _GLOBAL.parse(args, name)
    found = _GLOBAL.option_findings(parsed, name, judge.here)
    for given in parsed.options:
        found += _global(given, judge.here)
    if not parsed.operands or parsed.has("-h", "-v"):
        return found
    verb = parsed.operands[0]
    if verb.text is None:
        return [*found, unclear(f"which sub-command of git {verb.shown} is, is not known", at=verb)]
    words = parsed.operands[1:]
    if is_help(words):
        return found if verb.text in _COMMANDS else [*found, *_OTHER(name, [verb], judge)]
    elsewhere = _Elsewhere(judge, parsed.values("-C")) if parsed.has("-C") else judge
    found += _bare(verb, elsewhere.here)
    return found + run(_COMMANDS.get(verb.text, _OTHER), f"git {verb.text}", words, elsewhere)


class _Elsewhere:
    """A judge in another directory."""

    def __init__(self, judge: Judge, directories: Sequence[Arg]) -> None:
        self._judge = judge
        here = judge.here
        for arg in directories:
            here = replace(here, cwd=places.known_path(arg, here))
        self.here = here

    def command(self, args: Sequence[Arg]) -> list[Finding]:
        return self._judge.command(args)

    def script(self, text: Arg, shell: str) -> list[Finding]:
        return self._judge.script(text, shell)


def _global(given: Given, here: Surroundings) -> list[Finding]:
    """Judge an option in front of the sub-command that has a value."""
    value = given.value
    if value is None:
        return []
    match given.option.name:
        case "-c":
            return _setting(value)
        case "-C":
            path = places.known_path(value, here)
            if path and _TEMPORARY.fullmatch(path) and not places.is_within(path, here.workspace):
                return [_obeys(value)]
        case "--git-dir" if value.text != ".git":
            return [_obeys(value)]
        case "--work-tree" if value.text not in (".git", "."):
            return [_obeys(value)]
        case "--exec-path":
            return [ask(f"git takes its own programs from {value.shown}", Level.HIGH, Effect.EXEC, at=value)]
    return []


def _bare(verb: Arg, here: Surroundings) -> list[Finding]:
    """Ask about work in a directory such as `x.git`: files that came with a workspace may look like a repository."""
    path = here.cwd or ""
    if here.workspace and places.is_within(path, here.workspace):
        path = path[len(here.workspace) :]
    if not any(map(_BARE.fullmatch, path.split("/"))):
        return []
    return [ask(f"git obeys the settings in {here.cwd}, which may run programs", Level.MEDIUM, Effect.EXEC, at=verb)]


def _obeys(value: Arg) -> Finding:
    return ask(f"git obeys the settings in {value.shown}, which may run programs", Level.MEDIUM, Effect.EXEC, at=value)


def _setting(value: Arg) -> list[Finding]:
    known = value.prefix if value.text is None else value.text
    key, equals, text = known.partition("=")
    if key.lower() == "log.showsignature" and value.text is not None and equals + text.lower() in _NO:
        return []
    may_sign = _SIGNATURES.search(text) or (value.text is None and _SHOWING.fullmatch(key))
    if (equals or value.text is not None) and tables.HARMLESS_SETTING.fullmatch(key) and not may_sign:
        return []
    if value.text is not None and tables.PAGER_SETTING.fullmatch(key) and text in ("cat", "false", ""):
        return []
    return [ask(f"the setting {value.shown} may make git run a program", Level.HIGH, Effect.EXEC, at=value)]


def _objects(grammar: Grammar) -> Handler:
    """Make the judge of a sub-command that shows objects: `HEAD:PATH` is a file, too, and formats can run gpg."""

    def judge_objects(name: str, args: Sequence[Arg], judge: Judge) -> list[Finding]:
        parsed = grammar.parse(args, name)
        found = grammar.findings(parsed, name, judge.here)
        has_pattern = bool(grammar.first_unless) and not parsed.has(*grammar.first_unless)
        for arg in parsed.operands[has_pattern:]:
            known = arg.prefix if arg.text is None else arg.text
            colon = known.rfind(":")
            if colon >= 0 and len(known) > colon + 1:
                found += places.read(rest(arg, colon + 1), judge.here)
            found += _pathspec(arg, judge.here)
        if grammar is tables.GREP and len(parsed.operands) <= has_pattern:
            here = judge.here
            if parsed.has("--no-index", "--untracked") or (here.cwd and places.is_secret(here.cwd, here)):
                found += places.read(Arg.literal("."), here)
        for value in parsed.values("-L") if grammar is tables.LOG else ():
            known = value.prefix if value.text is None else value.text
            found += places.read(rest(value, known.rfind(":") + 1), judge.here)
        return found + _signatures(parsed, name)

    return judge_objects


def _pathspec(arg: Arg, here: Surroundings) -> list[Finding]:
    """Judge a pattern that git itself compares with names; its `*` stands for dots and slashes, too."""
    match = _MAGIC.match(arg.text or "")
    spec = (arg.text or "")[match.end() if match else 0 :]
    if match and ("exclude" in (match["words"] or "") or set(match["signs"] or "") & set("!^")):
        return []
    if not any(char in spec for char in "*?["):
        return places.read(replace(arg, text=spec, prefix=spec), here) if match and spec else []
    parent, _, name = spec.rpartition("/")
    found = places.read(Arg(None, spec, start=arg.start, end=arg.end, is_many=True, is_glob=True), here)
    matches = re.compile(fnmatch.translate(name.lower())).fullmatch
    is_hidden = sum(map(str.isalnum, name)) > 1 and any(map(matches, _HIDDEN_SECRETS))
    if is_hidden or places.is_secret(posixpath.join(parent, name.replace("*", "")), here):
        found.append(ask(f"reads {arg.shown}, which may hold secrets", Level.HIGH, Effect.CREDENTIALS, at=arg))
    return found


def _signatures(parsed: Parsed, name: str) -> list[Finding]:
    return [
        ask(f"{name} may run gpg to check signatures", Level.LOW, Effect.EXEC, at=value)
        for value in parsed.values("--format", "--pretty", "--sort")
        if value.text is None or _SIGNATURES.search(value.text)
    ]


def _formatted(grammar: Grammar) -> Handler:
    """Make the judge of a sub-command whose formats can run gpg."""

    def judge_formatted(name: str, args: Sequence[Arg], judge: Judge) -> list[Finding]:
        parsed = grammar.parse(args, name)
        return grammar.findings(parsed, name, judge.here) + _signatures(parsed, name)

    return judge_formatted


def _listing(grammar: Grammar, lists: tuple[str, ...], change: "Asked", grave: tuple[str, ...]) -> Handler:
    """Make the judge of branch and tag: without a name, or with an option that lists, they only list."""
    modes = {"-d", "-D", "-m", "-M", "-c", "-C", "-f", "--force", "-u", "--unset-upstream", "--edit-description"}
    modes |= {"-v", "--verify", "-a", "--annotate", "-s", "--sign", "-e", "--edit", "-F", "--delete"}
    if "--show-current" in grammar.table:
        modes -= {"-v", "-a", "-s", "-e"}

    def judge_listing(name: str, args: Sequence[Arg], judge: Judge) -> list[Finding]:
        parsed = grammar.parse(args, name)
        found = grammar.option_findings(parsed, name, judge.here) + _signatures(parsed, name)
        if parsed.has(*modes) or (parsed.operands and not parsed.has(*lists)):
            found += change(name, args, judge)
            if parsed.has(*grave):
                found.append(ask(f"{name} loses commits that are nowhere else", Level.HIGH, Effect.DELETE))
        return found

    return judge_listing


def _config(name: str, args: Sequence[Arg], judge: Judge) -> list[Finding]:
    parsed = tables.CONFIG.parse(args, name)
    found = tables.CONFIG.option_findings(parsed, name, judge.here)
    words = parsed.operands
    verb = words[0].text if words else ""
    if not parsed.has(*tables.CONFIG_WRITES):
        if verb in ("get", "list") or parsed.has(*tables.CONFIG_READS) or (len(words) == 1 and "." in (verb or "")):
            return found
        if not words:
            return found
    key = words[1].text if verb in ("set", "unset") and len(words) > 1 else verb
    if key and tables.HARMLESS_SETTING.fullmatch(key) and not parsed.has("--rename-section", "-e"):
        return [*found, ask(f"changes the setting {key}", Level.LOW, Effect.WRITE)]
    what = f"the setting {key}" if key and "." in key else "settings of git"
    return [*found, ask(f"changes {what}, which may make git run a program", Level.HIGH, Effect.EXEC)]


def _stash(name: str, args: Sequence[Arg], judge: Judge) -> list[Finding]:
    verb = args[0].text if args else "push"
    match verb:
        case "list":
            return _objects(tables.LOG)("git stash list", args[1:], judge)
        case "show":
            return tables.STASH_SHOW.judge("git stash show", args[1:], judge.here)
        case "drop" | "clear":
            return [ask("deletes changes that were put aside", Level.HIGH, Effect.DELETE)]
    return [ask("puts changes aside, or takes them back", Level.LOW, Effect.WRITE)]


def _reflog(name: str, args: Sequence[Arg], judge: Judge) -> list[Finding]:
    verb = args[0].text if args else None
    match verb:
        case "expire" | "delete" | "drop":
            return [ask("deletes the record of earlier commits", Level.HIGH, Effect.DELETE)]
        case "write":
            return [ask("changes the record of earlier commits", Level.MEDIUM, Effect.WRITE)]
        case "show" | "list" | "exists":
            args = args[1:]
    return _objects(tables.LOG)(name, args, judge)


def _remote_show(name: str, args: Sequence[Arg], judge: Judge) -> list[Finding]:
    if not args or args[0].text == "-n":
        return []
    return [ask("asks another machine about its branches", Level.LOW, Effect.NETWORK)]


def _symbolic_ref(name: str, args: Sequence[Arg], judge: Judge) -> list[Finding]:
    words = [arg.text for arg in args if arg.text not in ("-q", "--quiet", "--short", "--recurse")]
    if len(words) == 1 and words[0] and not words[0].startswith("-"):
        return []
    return [ask("changes which branch is current", Level.MEDIUM, Effect.WRITE)]


def _hash_object(name: str, args: Sequence[Arg], judge: Judge) -> list[Finding]:
    grammar = Grammar("-t: --stdin --stdin-paths --no-filters --path: --literally -w^change", "read*")
    return grammar.judge(name, args, judge.here)


_REMOTE: dict[str, Program] = {
    "get-url": Grammar("--push --all", "plain*"),
    "show": _remote_show,
    **asked("""
    add remove rm rename set-url set-head set-branches: medium write changes with whom commits are exchanged
    update prune: low network gets commits from another machine
    """),
}
_OTHER = Asked(Level.MEDIUM, (Effect.EXEC,), "is no sub-command of git: an alias or another program", frozenset())
_BRANCH = Asked(Level.LOW, (Effect.WRITE,), "changes branches")
_TAG = Asked(Level.LOW, (Effect.WRITE,), "changes tags, or runs gpg")

_SHOW_FILES = (tables.LOG, tables.DIFF, tables.DIFF_TREE, tables.CAT_FILE, tables.GREP)
_FORMAT = (tables.FOR_EACH_REF, tables.REV_LIST, tables.SHORTLOG)
_COMMANDS: dict[str, Program] = {
    **{
        verb: _objects(grammar) if grammar in _SHOW_FILES else _formatted(grammar) if grammar in _FORMAT else grammar
        for verb, grammar in tables.READERS.items()
    },
    **CHANGES,
    "branch": _listing(tables.BRANCH, (*tables.BRANCH_LISTS, "--points-at"), _BRANCH, ("-D", "-f", "--force")),
    "tag": _listing(tables.TAG, (*tables.BRANCH_LISTS, "--points-at", "-n"), _TAG, ()),
    "config": _config,
    "stash": _stash,
    "reflog": _reflog,
    "symbolic-ref": _symbolic_ref,
    "hash-object": _hash_object,
    "remote": Tool(_REMOTE, "-v --verbose"),
}

PROGRAMS: dict[str, Program] = {"git": _git}
