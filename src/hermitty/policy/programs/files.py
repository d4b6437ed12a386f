"""Programs that make, copy, move, change and delete files."""

import re
from collections.abc import Sequence
from dataclasses import replace

from hermitty.policy import places
from hermitty.policy.arguments import Arg
from hermitty.policy.context import Judge, Surroundings
from hermitty.policy.effects import Effect, Finding, Level, Verdict
from hermitty.policy.findings import ask, unclear
from hermitty.policy.options import Grammar, Parsed, rest
from hermitty.policy.programs.tables import Handler, Program, named

_RM = Grammar(
    "--help --version -dfiIrRvPWx --dir --force --interactive? --no-preserve-root --one-file-system --preserve-root? "
    "--recursive --verbose",
    "ask*",
)
_COPY = (
    "--help --version -abdfHilLnPpRrsTuvxXZcDCNe --archive --attributes-only --backup? --copy-contents --dereference "
    "--force --interactive --link --no-clobber --no-dereference --no-preserve: --no-target-directory --one-file-system "
    "--parents --preserve? --recursive --reflink? --remove-destination --sparse: --strip-trailing-slashes -S,--suffix: "
    "--symbolic-link -t,--target-directory: --update? --verbose --context? --debug --logical --physical --relative "
    "--symbolic --directory --compare -g,--group: -m,--mode: -o,--owner: --preserve-context --preserve-timestamps "
    "--strip --strip-program:exec --keep-directory-symlink --exchange --no-copy"
)
_CP = Grammar(_COPY, "ask*")
_CHMOD = Grammar(
    "--help --version -Rcfv -rwxXstugoa --changes --no-preserve-root --preserve-root --quiet --recursive --reference: "
    "--silent --verbose -hHLP --dereference --no-dereference",
    "ask*",
    numbers=True,
)
_CHOWN = Grammar(
    "--help --version -RcfvhHLPnx --changes --dereference --no-dereference --from: --no-preserve-root --preserve-root "
    "--quiet --recursive --reference: --silent --verbose",
    "ask*",
)
_MODE_FLAGS = tuple(f"-{letter}" for letter in "rwxXstugoa0123456789")
_SETS_ID = re.compile(r"[0-7]*[2-7][0-7]{3}|[ugoa]*[+=][rwxXst]*s[rwxXst]*")


def _rm(name: str, args: Sequence[Arg], judge: Judge) -> list[Finding]:
    parsed = _RM.parse(args, name)
    found = _RM.option_findings(parsed, name, judge.here)
    if parsed.has("--help", "--version"):
        return found
    is_recursive = parsed.has("-r", "-R", "--recursive")
    for arg in parsed.operands:
        found += places.delete(arg, judge.here, recursive=is_recursive)
    if is_recursive and parsed.has("-f", "--force"):
        found.append(ask("deletes files recursively without asking", Level.CRITICAL, Effect.DELETE))
    elif is_recursive:
        found.append(ask("deletes files recursively", Level.HIGH, Effect.DELETE))
    elif not parsed.operands:
        found.append(ask("deletes files", Level.MEDIUM, Effect.DELETE))
    return found


def _sources_and_target(parsed: Parsed) -> tuple[list[Arg], Arg | None]:
    """Split the operands of cp and its kin: the last one is the target, unless an option gives it."""
    given = parsed.values("-t")
    if given:
        return parsed.operands, given[-1]
    return parsed.operands[:-1], parsed.operands[-1] if parsed.operands else None


def _cp(name: str, args: Sequence[Arg], judge: Judge) -> list[Finding]:
    parsed = _CP.parse(args, name)
    found = _CP.option_findings(parsed, name, judge.here)
    sources, target = _sources_and_target(parsed)
    if name == "install" and parsed.has("-d", "--directory"):
        return found + [one for arg in parsed.operands for one in places.write(arg, judge.here, "creates")]
    for arg in sources:
        found += places.read(arg, judge.here)
    return found + _target(target, judge.here, name, parsed)


def _target(target: Arg | None, here: Surroundings, name: str, parsed: Parsed) -> list[Finding]:
    if target is not None:
        found = places.write(target, here)
        # Nothing is found for a sink such as /dev/null; the question is still whether it should be replaced.
        return found or [ask(f"writes to {target.shown}", Level.LOW, Effect.WRITE, at=target)]
    return [] if parsed.has("--help", "--version") else [unclear(f"{name} without a target")]


def _mv(name: str, args: Sequence[Arg], judge: Judge) -> list[Finding]:
    parsed = _CP.parse(args, name)
    found = _CP.option_findings(parsed, name, judge.here)
    sources, target = _sources_and_target(parsed)
    for arg in sources:
        for one in places.delete(arg, judge.here, recursive=True, verb="moves"):
            is_mild = one.verdict is Verdict.ASK and one.level is Level.HIGH
            found.append(replace(one, level=Level.MEDIUM) if is_mild else one)
    return found + _target(target, judge.here, name, parsed)


def _ln(name: str, args: Sequence[Arg], judge: Judge) -> list[Finding]:
    parsed = _CP.parse(args, name)
    found = _CP.option_findings(parsed, name, judge.here)
    if len(parsed.operands) == 1 and not parsed.has("-t"):
        return [*found, ask(f"makes a link to {parsed.operands[0].shown}", Level.LOW, Effect.WRITE)]
    _, target = _sources_and_target(parsed)
    return found + _target(target, judge.here, name, parsed)


def _chmod(name: str, args: Sequence[Arg], judge: Judge) -> list[Finding]:
    parsed = _CHMOD.parse(args, name)
    found = _CHMOD.option_findings(parsed, name, judge.here)
    files = parsed.operands
    if not parsed.has("--reference", *_MODE_FLAGS) and files:
        mode, files = files[0], files[1:]
        if mode.text is None or any(_SETS_ID.fullmatch(part) for part in mode.text.split(",")):
            found.append(ask(f"sets the mode {mode.shown}", Level.HIGH, Effect.PRIVILEGE, at=mode))
    return found + _changed(files, "changes the permissions of", parsed, judge.here)


def _chown(name: str, args: Sequence[Arg], judge: Judge) -> list[Finding]:
    parsed = _CHOWN.parse(args, name)
    found = _CHOWN.option_findings(parsed, name, judge.here)
    files = parsed.operands if parsed.has("--reference") else parsed.operands[1:]
    return found + _changed(files, "changes the owner of", parsed, judge.here)


def _changed(files: Sequence[Arg], verb: str, parsed: Parsed, here: Surroundings) -> list[Finding]:
    is_recursive = parsed.has("-R", "--recursive")
    found = [one for arg in files for one in places.change(arg, here, verb, recursive=is_recursive)]
    if found or parsed.has("--help", "--version"):
        return found
    return [ask(f"{verb} files", Level.MEDIUM, Effect.WRITE)]


def _dd(name: str, args: Sequence[Arg], judge: Judge) -> list[Finding]:
    found: list[Finding] = []
    for arg in args:
        key, equals, _ = arg.prefix.partition("=")
        if arg.text in ("--help", "--version"):
            continue
        if not equals or arg.may_split:
            found.append(unclear(f"{arg.shown} may be anything that dd takes", at=arg))
        if key == "of" and equals:
            found += places.write(rest(arg, 3), judge.here)
        elif key == "if" and equals:
            found += places.read(rest(arg, 3), judge.here)
    return found


def _writing(grammar: Grammar, verb: str) -> Handler:
    """Make the judge of a program that writes to each of its operands."""

    def judge_writer(name: str, args: Sequence[Arg], judge: Judge) -> list[Finding]:
        parsed = grammar.parse(args, name)
        found = grammar.option_findings(parsed, name, judge.here)
        for arg in parsed.operands:
            found += places.write(arg, judge.here, verb)
        return found

    return judge_writer


def _shred(name: str, args: Sequence[Arg], judge: Judge) -> list[Finding]:
    parsed = _SHRED.parse(args, name)
    found = _SHRED.option_findings(parsed, name, judge.here)
    found.append(ask("destroys the content of files", Level.HIGH, Effect.DELETE))
    return found + [one for arg in parsed.operands for one in places.delete(arg, judge.here, verb="destroys")]


_SHRED = Grammar(
    "--help --version -fuvxzrP -n,--iterations: -s,--size: -u --exact --force --random-source:read --remove? --verbose "
    "--zero -m -l -d",
    "ask*",
)


def _mktemp(name: str, args: Sequence[Arg], judge: Judge) -> list[Finding]:
    parsed = _MKTEMP.parse(args, name)
    found = _MKTEMP.option_findings(parsed, name, judge.here)
    if not parsed.has("-u", "--dry-run", "--help", "--version"):
        found.append(ask("makes a temporary file", Level.LOW, Effect.WRITE))
    return found


_MKTEMP = Grammar("--help --version -dqtu -p: --tmpdir? --directory --dry-run --quiet --suffix:", "plain*")


def _rsync(name: str, args: Sequence[Arg], judge: Judge) -> list[Finding]:
    """Judge by the last word; rsync has too many options to tell every operand."""
    words = [arg for arg in args if not arg.prefix.startswith("-")]
    found = [ask("copies files, and may run programs to do so", Level.MEDIUM, Effect.WRITE)]
    if any(":" in (arg.text or arg.prefix) for arg in words):
        found.append(ask("copies files over the network", Level.MEDIUM, Effect.NETWORK))
    deletes = any((arg.text or "").startswith("--del") or arg.text == "--remove-source-files" for arg in args)
    if words and deletes:
        found += places.delete(words[-1], judge.here, recursive=True, verb="deletes files in")
    elif words and ":" not in words[-1].prefix:
        found += places.write(words[-1], judge.here)
    return found


_TOUCH = Grammar(
    "--help --version -acfhm -d,--date: -r,--reference: -t: --no-create --no-dereference --time: -A:", "ask*"
)
_MKDIR = Grammar("--help --version -pvZ -m,--mode: --parents --verbose --context?", "ask*")
_TEE = Grammar("--help --version -aip --append --ignore-interrupts --output-error?", "write*")
_TRUNCATE = Grammar("--help --version -co -r,--reference: -s,--size: --io-blocks --no-create", "ask*")
_SPLIT = (
    "--help --version -deux -a,--suffix-length: --additional-suffix: -b,--bytes: -C,--line-bytes: -l,--lines: "
    "-n,--number: -t,--separator: --numeric-suffixes? --hex-suffixes? --elide-empty-files --unbuffered --verbose "
    "--filter:exec -p:"
)

PROGRAMS: dict[str, Program] = {
    **named("rm grm", _rm),
    "rmdir": Grammar("--help --version -pv --parents --verbose --ignore-fail-on-non-empty", "delete*"),
    "unlink": Grammar("--help --version", "delete*"),
    **named("trash trash-put gio-trash", Grammar("", "delete*")),
    **named("cp install gcp", _cp),
    "mv": _mv,
    **named("ln link", _ln),
    **named("chmod", _chmod),
    **named("chown chgrp", _chown),
    **named(
        "chattr setfacl setfattr setcap",
        Grammar("", "plain*", any_options=True, effect="changes attributes of files", level=Level.MEDIUM),
    ),
    "dd": _dd,
    "mkdir": _writing(_MKDIR, "creates"),
    **named("mkfifo mknod", _writing(_MKDIR, "creates")),
    "touch": _writing(_TOUCH, "touches"),
    "truncate": _writing(_TRUNCATE, "truncates"),
    "tee": _TEE,
    "sponge": Grammar("-a", "write*"),
    "shred": _shred,
    "srm": _shred,
    "mktemp": _mktemp,
    "split": Grammar(
        _SPLIT, "read plain", numbers=True, effect="writes the parts of a file to new files", level=Level.LOW
    ),
    "csplit": Grammar(
        "--help --version -ksz -b,--suffix-format: -f,--prefix: -n,--digits: --suppress-matched --keep-files --quiet "
        "--silent --elide-empty-files",
        "read plain*",
        effect="writes the parts of a file to new files",
        level=Level.LOW,
    ),
    "patch": Grammar("", "plain*", any_options=True, effect="changes files as a patch says", level=Level.MEDIUM),
    "rsync": _rsync,
    "sync": Grammar("--help --version -df --data --file-system", "name*"),
    "fallocate": Grammar("", "write*", any_options=True, effect="changes the size of a file", level=Level.LOW),
    "rename": Grammar("", "plain*", any_options=True, effect="renames files", level=Level.MEDIUM),
    "dos2unix": Grammar("", "write*", any_options=True, effect="changes files", level=Level.LOW),
    "unix2dos": Grammar("", "write*", any_options=True, effect="changes files", level=Level.LOW),
}
