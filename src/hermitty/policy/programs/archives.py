"""Archives and compressed files: listing and testing reads, packing and unpacking writes."""

import re
from collections.abc import Sequence
from dataclasses import replace

from hermitty.policy import places
from hermitty.policy.arguments import Arg
from hermitty.policy.context import Judge, Surroundings
from hermitty.policy.effects import Effect, Finding, Level
from hermitty.policy.findings import ask, unclear
from hermitty.policy.options import Grammar, Parsed
from hermitty.policy.programs.tables import Handler, Program, named

_TAR = Grammar(
    "--help --version --usage -ABGJMORSUWZahijklmnopqrtudvwxzcP --list --extract,--get --create --append --update "
    "--catenate --concatenate --diff --compare --delete --test-label -f,--file: -C,--directory: -T,--files-from:read "
    "-X,--exclude-from:read -b,--blocking-factor: -g,--listed-incremental:write -H:ask --format: "
    "-K,--starting-file:ask -L,--tape-length:ask -N:ask --newer: -V:ask --label: --exclude: --strip-components: "
    "--transform,--xform: --owner: --group: --mode: --mtime: --sort: --absolute-names --acls --anchored "
    "--auto-compress --bzip2 --compress --dereference --full-time --gunzip,--gzip,--ungzip --ignore-case "
    "--ignore-failed-read --ignore-zeros --keep-newer-files --keep-old-files --lzip --lzma --lzop --no-acls "
    "--no-anchored --no-auto-compress --no-recursion --no-same-owner --no-same-permissions --no-wildcards --null "
    "--numeric-owner --occurrence? --one-file-system --one-top-level? --overwrite --overwrite-dir --posix "
    "--preserve-permissions --quoting-style: --recursion --same-owner --same-permissions --show-stored-names "
    "--skip-old-files --sparse --to-stdout --touch --totals? --unlink-first --utc --verbose --verify --warning: "
    "--wildcards --xattrs --xz --zstd --exclude-vcs --exclude-vcs-ignores --exclude-backups --exclude-caches "
    "--no-xattrs --force-local --interactive -I,--use-compress-program:exec -F,--info-script,--new-volume-script:exec "
    "--to-command:exec --checkpoint-action:exec --checkpoint? --rmt-command:exec --rsh-command:exec --index-file:write "
    "--volno-file:write --remove-files^change --recursive-unlink^change --backup?change",
    "ask*",
)
_LISTS = ("-t", "--list", "-d", "--diff", "--compare", "--test-label")
_EXTRACTS = ("-x", "--extract")


def _tar(name: str, args: Sequence[Arg], judge: Judge) -> list[Finding]:
    parsed = _TAR.parse(_with_dash(args), name)
    found = _TAR.option_findings(parsed, name, judge.here)
    archives = parsed.values("-f")
    is_local = parsed.has("--force-local")
    for archive in archives:
        if archive.text is None or (":" in archive.text.partition("/")[0] and not is_local):
            found.append(ask(f"{archive.shown} may be on another machine", Level.MEDIUM, Effect.NETWORK, at=archive))
    if parsed.has("--remove-files"):
        found += _removed(parsed, judge.here)
    files = [arg for arg in archives if arg.text != "-"]
    if parsed.has(*_EXTRACTS):
        found += [one for arg in files for one in places.read(arg, judge.here)]
        if not parsed.has("-O", "--to-stdout"):
            found += _unpacked(parsed.values("-C"), judge)
    elif parsed.has("-c", "--create"):
        found += [one for arg in parsed.operands for one in places.read(arg, judge.here)]
        found += [one for arg in files for one in places.write(arg, judge.here)]
    elif parsed.has(*_LISTS):
        found += [one for arg in files for one in places.read(arg, judge.here)]
    elif not parsed.has("--help", "--version", "--usage"):
        found.append(ask("changes an archive", Level.MEDIUM, Effect.WRITE))
    return found


def _removed(parsed: Parsed, here: Surroundings) -> list[Finding]:
    """Judge the deletion of what was packed, as seen from every directory that the line names."""
    starts = [here]
    for arg in parsed.values("-C"):
        starts.append(replace(here, cwd=places.known_path(arg, starts[-1])))
    return [one for arg in parsed.operands for start in starts for one in places.delete(arg, start, recursive=True)]


def _with_dash(args: Sequence[Arg]) -> list[Arg]:
    """Write the old form (`tar tvf x`) as the new one. Values follow in the order of the letters."""
    if not args or args[0].text is None or args[0].text.startswith("-"):
        return list(args)
    words: list[Arg] = []
    following = list(args[1:])
    for letter in args[0].text:
        words.append(Arg.literal("-" + letter, args[0].shown, args[0].start, args[0].end))
        option = _TAR.table.get("-" + letter)
        if option is not None and option.arity == ":" and following:
            words.append(following.pop(0))
    return words + following


def _unpacked(directories: Sequence[Arg], judge: Judge) -> list[Finding]:
    if not directories:
        return [ask("unpacks files into the current directory", Level.MEDIUM, Effect.WRITE)]
    return [one for arg in directories for one in places.write(arg, judge.here, "unpacks files into")]


def _unzip(name: str, args: Sequence[Arg], judge: Judge) -> list[Finding]:
    parsed = _UNZIP.parse(args, name)
    found = _UNZIP.option_findings(parsed, name, judge.here)
    found += [one for arg in parsed.operands[:1] for one in places.read(arg, judge.here)]
    if not parsed.has("-l", "-t", "-v", "-Z", "-z", "-p", "-c", "-h", "--help"):
        found += _unpacked(parsed.values("-d"), judge)
    return found


_UNZIP = Grammar("--help -12abcCDfhjKlLMmnopqstuTUvVWXzZ -d: -x: -P: -I: -O:", "ask plain*")


def _compressing(options: str) -> Handler:
    """Make the judge of a program that replaces files, unless an option makes it print.

    Listing and testing count only alone: which of several modes is taken differs.
    """
    grammar = Grammar("--help --version " + options, "ask*", numbers=True)

    def judge_compressor(name: str, args: Sequence[Arg], judge: Judge) -> list[Finding]:
        parsed = grammar.parse(args, name)
        found = grammar.option_findings(parsed, name, judge.here)
        files = [arg for arg in parsed.operands if arg.text != "-"]
        if parsed.has(*_PRINTS) or (parsed.has(*_TESTS) and not parsed.has(*_PACKS)) or not files:
            return found + [one for arg in files for one in places.read(arg, judge.here)]
        return found + _replaced(files, parsed, judge)

    return judge_compressor


def _replaced(files: Sequence[Arg], parsed: Parsed, judge: Judge) -> list[Finding]:
    return [
        *(ask(f"replaces {arg.shown} by another file", Level.MEDIUM, Effect.WRITE, at=arg) for arg in files),
        *(one for arg in files for one in places.write(arg, judge.here, "replaces")),
    ]


_PRINTS = ("-c", "--stdout")
_TESTS = ("-l", "--list", "-t", "--test")
_PACKS = ("-d", "--decompress", "--uncompress", "-z", "--compress")
_GZIP = (
    "-acdfhklLnNqrtvV1 --stdout,--to-stdout --decompress,--uncompress --force --keep --list --name --no-name --quiet "
    "--recursive -S,--suffix: --synchronous --test --verbose --best --fast --rsyncable --small -s -z --compress -b: "
    "--repetitive-best"
)
_XZ = (
    "-cdfhHklqtvVz0e -T,--threads: -M,--memlimit: -F,--format: -C,--check: -S,--suffix: --stdout,--to-stdout "
    "--decompress --uncompress --compress --force --keep --list --test --quiet --verbose --robot --extreme --best "
    "--fast --lzma2? --files?change --files0?change --no-sparse --single-stream"
)
_ZSTD = (
    "-cdfhHklqtvVzCr -D:read -o:write -M? --stdout --decompress --uncompress --compress --force --keep --list --test "
    "--quiet --verbose --rm^change --ultra --long? --fast? --threads: --no-progress --no-check --check --adapt? -T?"
)


def _seven(name: str, args: Sequence[Arg], judge: Judge) -> list[Finding]:
    words = [arg.text for arg in args]
    if words[:1] in (["l"], ["t"], ["i"], ["h"]) and None not in words and not any("@" in (one or "") for one in words):
        return [one for arg in args[1:] if not arg.prefix.startswith("-") for one in places.read(arg, judge.here)]
    return [ask("packs or unpacks files", Level.MEDIUM, Effect.WRITE)] if args else []


def _ar(name: str, args: Sequence[Arg], judge: Judge) -> list[Finding]:
    """Judge ar: further options may load a library, and `@file` reads more of them."""
    if not args or not _AR_READS.fullmatch(args[0].text or ""):
        return [unclear("may change an archive")]
    found = [
        unclear(f"{arg.shown} may hold options", at=arg)
        for arg in args[1:]
        if arg.may_be_option or arg.prefix.startswith("@")
    ]
    return found + [one for arg in args[1:2] for one in places.read(arg, judge.here)]


_AR_READS = re.compile(r"-?[tp][vOPV]*")


PROGRAMS: dict[str, Program] = {
    **named("tar gtar bsdtar", _tar),
    "unzip": _unzip,
    "zipinfo": Grammar("-12hlmMstTvzC -x:", "read plain*"),
    "funzip": Grammar("", "read*"),
    **named("zip", Grammar("", "plain*", any_options=True, effect="writes an archive", level=Level.LOW)),
    **named(
        "gzip gunzip bzip2 bunzip2 compress uncompress pigz",
        _compressing(_GZIP),
    ),
    **named("xz unxz lzma unlzma", _compressing(_XZ)),
    **named("zstd unzstd", _compressing(_ZSTD)),
    **named("7z 7za 7zr", _seven),
    "ar": _ar,
}
