"""Sub-commands of git that change something, with how grave that is."""

import re
from collections.abc import Sequence

from hermitty.policy import places
from hermitty.policy.arguments import Arg
from hermitty.policy.context import Judge, Surroundings
from hermitty.policy.effects import Effect, Finding, Level
from hermitty.policy.findings import ask
from hermitty.policy.options import Grammar, Parsed
from hermitty.policy.programs import git_tables as tables
from hermitty.policy.programs.subcommands import Asked, Tool, asked, mentions, worse
from hermitty.policy.programs.tables import Handler, Program

_MAIN = re.compile(r"\+?(?:[^:]*:)?(?:refs/heads/|heads/)?(?:main|master)")
_PUSH = Asked(Level.MEDIUM, (Effect.NETWORK,), "sends commits to another machine, and runs hooks")


def _push(name: str, args: Sequence[Arg], judge: Judge) -> list[Finding]:
    found = _PUSH(name, args, judge)
    words = [arg.prefix if arg.text is None else arg.text for arg in args]
    refs = [word for word in words if not word.startswith("-")]
    if mentions(args, "--mirror", "--delete", "-d") or any(word.startswith((":", "+:")) for word in refs):
        found.append(ask("deletes branches on another machine", Level.CRITICAL, Effect.DELETE))
    forces = mentions(args, "--force", "-f", "--force-with-lease", "--force-if-includes")
    if forces or any(word.startswith("+") for word in refs):
        is_main = any(_MAIN.fullmatch(word) for word in refs)
        level = Level.CRITICAL if is_main else Level.HIGH
        found.append(ask("overwrites the history on another machine", level, Effect.DELETE))
    if mentions(args, "--prune") or any(arg.text is None and arg.may_be_option for arg in args):
        found.append(ask("may delete or overwrite branches on another machine", Level.HIGH, Effect.DELETE))
    if mentions(args, "--receive-pack", "--exec"):
        found.append(ask("runs a program that the line names", Level.HIGH, Effect.EXEC))
    return found


def _reset(name: str, args: Sequence[Arg], judge: Judge) -> list[Finding]:
    found = [ask("git reset changes what is staged, or where a branch is", Level.LOW, Effect.WRITE)]
    if mentions(args, "--hard", "--merge", "--keep") or any(arg.text is None and arg.may_be_option for arg in args):
        found.append(ask("discards changes that are not committed", Level.HIGH, Effect.DELETE))
    return found


def _clean(name: str, args: Sequence[Arg], judge: Judge) -> list[Finding]:
    parsed = tables.CLEAN.parse(args, name)
    found = tables.CLEAN.option_findings(parsed, name, judge.here)
    if parsed.has("-n", "--dry-run") and not found:
        return []
    level = Level.HIGH if parsed.has("-f", "--force") or found else Level.MEDIUM
    found.append(ask("deletes files that git does not know", level, Effect.DELETE))
    return found + _deleted(parsed, judge.here)


def _rm(name: str, args: Sequence[Arg], judge: Judge) -> list[Finding]:
    parsed = tables.RM.parse(args, name)
    found = tables.RM.option_findings(parsed, name, judge.here)
    if parsed.has("-n", "--dry-run") and not found:
        return []
    if parsed.has("--cached"):
        return [*found, ask("makes git forget files", Level.LOW, Effect.WRITE)]
    level = Level.HIGH if parsed.has("-f", "--force") else Level.MEDIUM
    found.append(ask("deletes files that git knows", level, Effect.DELETE))
    return found + _deleted(parsed, judge.here)


def _deleted(parsed: Parsed, here: Surroundings) -> list[Finding]:
    return [one for arg in parsed.operands for one in places.delete(arg, here, recursive=parsed.has("-r", "-d"))]


def _switching(name: str, args: Sequence[Arg], judge: Judge) -> list[Finding]:
    """Judge checkout, switch and restore: with paths, or by force, changes in files are lost."""
    found = [ask(f"{name} changes files to another version", Level.LOW, Effect.WRITE)]
    words = [arg.text for arg in args]
    is_staged = "--staged" in words and not mentions(args, "--worktree", "-W")
    restores = name.endswith("restore") and not (is_staged or "-S" in words)
    operands = [word for word in words if word is None or not word.startswith("-")]
    with_paths = "--" in words or "." in words or mentions(args, "--pathspec-from-file") or len(operands) > 1
    makes_branch = mentions(args, "-b", "-B", "--orphan", "--track", "-t")
    forced = mentions(args, "--force", "-f", "--discard-changes", "--ours", "--theirs")
    if (
        restores
        or (name.endswith("checkout") and with_paths and not makes_branch)
        or (forced and not name.endswith("restore"))
    ):
        found.append(ask("discards changes that are not committed", Level.HIGH, Effect.DELETE))
    elif any(word is None or "." in word for word in operands):
        found.append(ask(f"{name} may discard changes of a file", Level.MEDIUM, Effect.DELETE))
    return found


def _add(name: str, args: Sequence[Arg], judge: Judge) -> list[Finding]:
    found = [ask("stages changes for the next commit", Level.LOW, Effect.WRITE)]
    return found + [
        one for arg in args if not arg.prefix.startswith("-") for one in places.read(arg, judge.here) if one.level
    ]


def _clone(name: str, args: Sequence[Arg], judge: Judge) -> list[Finding]:
    found = [ask(f"{name} gets a repository from elsewhere", Level.MEDIUM, Effect.NETWORK)]
    if len(args) > 1 and not args[-1].prefix.startswith("-"):
        found += places.write(args[-1], judge.here)
    return found + _runs_named(args)


def _fetching(reason: str, level: Level) -> Handler:
    def judge_fetch(name: str, args: Sequence[Arg], judge: Judge) -> list[Finding]:
        return [ask(f"{name} {reason}", level, Effect.NETWORK), *_runs_named(args)]

    return judge_fetch


def _runs_named(args: Sequence[Arg]) -> list[Finding]:
    """Find what makes a transfer run a program: an option, a setting, or a strange address."""
    named = mentions(args, "--upload-pack", "-u", "--config", "-c", "--template", "--exec")
    if named or any((arg.text or arg.prefix).startswith("ext::") for arg in args):
        return [ask("may run a program that the line names", Level.HIGH, Effect.EXEC)]
    return []


def _bisect(name: str, args: Sequence[Arg], judge: Judge) -> list[Finding]:
    verb = args[0].text if args else "help"
    if verb in ("log", "help", "terms"):
        return []
    if verb == "run":
        return [ask("runs a command for many commits", Level.HIGH, Effect.EXEC), *judge.command(args[1:])]
    if verb in ("view", "visualize", "replay"):
        return [ask("runs other programs", Level.MEDIUM, Effect.EXEC)]
    return [ask("changes files to another version", Level.LOW, Effect.WRITE)]


def _apply(name: str, args: Sequence[Arg], judge: Judge) -> list[Finding]:
    parsed = tables.APPLY_READS.parse(args, name)
    if parsed.has("--stat", "--numstat", "--summary", "--check") and not parsed.has("--apply"):
        return tables.APPLY_READS.findings(parsed, name, judge.here)
    return [ask("changes files as a patch says", Level.MEDIUM, Effect.WRITE)]


_CHANGES = asked("""
    commit: low write records a commit, and runs hooks of the repository
    merge cherry-pick revert: low write changes files and records commits
    rebase: medium write rewrites commits
    am: medium write applies patches and records commits
    mv: low write renames files
    init: low write makes a repository
    gc maintenance repack pack-refs: medium write packs objects and removes old ones
    prune prune-packed: high delete deletes objects that nothing refers to
    filter-branch filter-repo: high exec,write rewrites all commits, and runs commands
    update-ref replace: medium write changes what names refer to
    update-index read-tree write-tree commit-tree mktree mktag rerere: low write changes data of the repository
    checkout-index: medium write overwrites files
    notes: low write changes notes of commits
    archive bundle format-patch bugreport diagnose fast-export: low write writes files
    fast-import unpack-objects index-pack: medium write adds objects
    interpret-trailers: low exec may run programs that settings name
    verify-commit verify-tag: low exec runs gpg to check signatures
    difftool mergetool gui gitk citool instaweb web--browse: medium exec opens other programs
    daemon http-backend upload-pack receive-pack shell: high network,exec serves the repository to others
    send-email imap-send request-pull: medium network sends mail
    svn p4 cvsimport lfs: medium network,exec runs a program that reaches other machines
    credential credential-store credential-cache: high credentials shows or changes passwords
    submodule: medium network,exec gets other repositories
""")
_WORKTREE = {
    "list": Grammar("-vz --verbose --porcelain --expire:", ""),
    **asked("""
    add: low write makes another working directory
    move lock unlock repair: low write changes a working directory
    prune: medium delete forgets working directories
    remove: medium delete deletes a working directory
    """),
}
_WORKTREE["remove"] = worse(
    _WORKTREE["remove"], "-f --force", Level.HIGH, Effect.DELETE, "deletes changes that are not committed"
)
_SUBMODULE: dict[str, Program] = {
    "status": Grammar("-q --quiet --cached --recursive", "name*"),
    "summary": Grammar("-n,--summary-limit: --cached --files --for-status", "name*"),
    **asked("""
    init deinit sync set-branch set-url absorbgitdirs: low write changes settings of other repositories
    add update: medium network,exec gets other repositories
    foreach: high exec runs a command in every other repository
    """),
}
_NOTES: dict[str, Program] = {"list": Grammar("", "plain"), "show": Grammar("", "plain")}

_REBASE = worse(_CHANGES["rebase"], "-x --exec", Level.HIGH, Effect.EXEC, "runs a command for every commit")

CHANGES: dict[str, Program] = {
    **_CHANGES,
    "push": _push,
    "reset": _reset,
    "clean": _clean,
    "rm": _rm,
    **dict.fromkeys(("checkout", "switch", "restore"), _switching),
    **dict.fromkeys(("add", "stage"), _add),
    "rebase": _REBASE,
    "clone": _clone,
    "fetch": _fetching("gets commits from another machine", Level.LOW),
    "pull": _fetching("gets commits from another machine, changes files and runs hooks", Level.MEDIUM),
    "bisect": _bisect,
    "apply": _apply,
    "worktree": Tool(_WORKTREE, ""),
    "submodule": Tool(_SUBMODULE, "-q --quiet", other=_CHANGES["submodule"]),
    "notes": Tool(_NOTES, "--ref:", other=_CHANGES["notes"]),
    "sparse-checkout": Tool({"list": Grammar("", "")}, "", other=_CHANGES["read-tree"]),
}
