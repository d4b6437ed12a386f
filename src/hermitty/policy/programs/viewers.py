"""Readers whose arguments hold a small language or a sub-command: pagers, manuals, dates, jq and yq."""

import re
from collections.abc import Sequence

from hermitty.policy.arguments import Arg
from hermitty.policy.context import Judge
from hermitty.policy.effects import Effect, Finding, Level
from hermitty.policy.findings import ask, unclear
from hermitty.policy.options import Grammar
from hermitty.policy.programs.tables import Program, named

_DATE = Grammar(
    "--help --version -Rujn -d,--date: -f,--file:read -I,--iso-8601? -r,--reference: --rfc-3339: --rfc-email --rfc-822 "
    "--rfc-2822 --utc --universal --debug --resolution -v: -s,--set:change",
    "ask*",
)
# In a short option of less a `$` ends its text, and more options follow: those with a text are left out.
_PAGER = Grammar(
    "--help --version -ABCEFGIJKLMNQRSUVWXacdefgimnqrsuwl~ -p,--pattern:read --IGNORE-CASE --LINE-NUMBERS "
    "--LONG-PROMPT --QUIET --QUIT-AT-EOF --RAW-CONTROL-CHARS --chop-long-lines --clear-screen --dumb --file-size "
    "--follow-name --force --hilite-search --ignore-case --incsearch --line-numbers --long-prompt --mouse --no-init "
    "--no-keypad --no-lessopen --quiet --quit-at-eof --quit-if-one-screen --quit-on-intr --raw-control-chars --silent "
    "--squeeze-blank-lines --status-column --tilde --underline-special --use-color --plain --squeeze --print-over "
    "--clean-print --exit-on-eof --no-pause -o,--log-file:write -O,--LOG-FILE:write -k,--lesskey-file:exec "
    "--lesskey-src:exec --lesskey-content:exec -t,--tag:exec -T,--tag-file:exec",
    plus=True,
    numbers=True,
)
_MAN = Grammar(
    "--help --version -7IKVacdfikuwW --all --apropos --ascii --default --encoding: -e,--extension: -R,--recode: "
    "--global-apropos --ignore-case --location --locale: -L: --match-case --names-only --no-hyphenation --nh "
    "--no-justification --nj --no-subpages --path --regex -S,--sections: -s: --usage --whatis --where --where-cat "
    "--location-cat --wildcard -E: -C,--config-file:exec -M,--manpath:exec -P,--pager:exec -H,--html?exec "
    "-X,--gxditview?exec -l,--local-file^exec -p,--preprocessor:exec -t,--troff^exec -T,--troff-device?exec "
    "-Z,--ditroff^exec -r,--prompt:exec -m,--systems:exec --update^change",
    "plain*",
)
_JQ = Grammar(
    "--help --version -CMRSVacehjnrs --ascii-output --build-configuration --color-output --compact-output "
    "--exit-status --join-output --monochrome-output --null-input --raw-input --raw-output --raw-output0 --seq --slurp "
    "--sort-keys --stream --stream-errors --tab --unbuffered --args --jsonargs --indent: --arg:: --argjson:: "
    "--slurpfile::read --rawfile::read --argfile::read -f,--from-file:read -L:read",
    "plain read*",
    first_unless=("-f",),
)
# One list for the two programs of this name; `-s` writes files in one of them.
_YQ = Grammar(
    "--help --version -CMNPVcejnrvaSRyYxw0 --colors --no-colors --no-doc --prettyPrint --exit-status --null-input "
    "--raw-output --verbose --unwrapScalar? --tojson --yaml-output --yaml-roundtrip --sort-keys --compact-output "
    "--raw-input --xml-output --csv --nul-output --string-interpolation? -I,--indent: -o,--output-format: "
    "-p,--input-format: --arg:: --argjson:: --from-file:exec --front-matter: --header-preprocess? "
    "--xml-attribute-prefix: --expression: --slurp -i,--inplace,--in-place^change -s,--split-exp:change "
    "--split-exp-file:change",
    "plain read*",
    first_unless=("--from-file", "--expression"),
)
_BAT = Grammar(
    "--help --version -AnpPSufdL -H,--highlight-line: -l,--language: -r,--line-range: -m,--map-syntax: --style: "
    "--color: --theme: --paging: --tabs: --wrap: --terminal-width: --decorations: --file-name: --show-all --plain "
    "--number --list-languages --list-themes --diff --no-paging --italic-text: --nonprintable-notation: --strip-ansi: "
    "--pager:exec --diagnostic^exec"
)
# Keys for less as it starts: to a line, to the end, or a search up to the end of the word.
_PAGER_KEYS = re.compile(r"\+{1,2}(?:[GFg]|\d+[gGp%]?|[/?][^\x00-\x1f\x7f]*)?")
_PATTERN = re.compile(r"[^$\x00-\x1f\x7f]*\$?")


def _date(name: str, args: Sequence[Arg], judge: Judge) -> list[Finding]:
    """Print the time; anything but a format sets the clock."""
    parsed = _DATE.parse(args, name)
    found = _DATE.option_findings(parsed, name, judge.here)
    found += [
        ask(f"{arg.shown} may set the clock", Level.HIGH, Effect.PRIVILEGE, at=arg)
        for arg in parsed.operands
        if not arg.prefix.startswith("+") and not parsed.has("-j")
    ]
    return found


def _pager(name: str, args: Sequence[Arg], judge: Judge) -> list[Finding]:
    """Show files; what begins with `+` is a command, which may run programs."""
    parsed = _PAGER.parse(args, name)
    found = _PAGER.findings(parsed, name, judge.here)
    for given in parsed.options:
        command = given.option.name
        is_key = command.startswith("+") and (given.word.text is None or not _PAGER_KEYS.fullmatch(command))
        if is_key or (given.value and command == "-p" and not _PATTERN.fullmatch(given.value.text or "\0")):
            found.append(
                ask(f"{given.word.shown} may hold commands for {name}", Level.HIGH, Effect.EXEC, at=given.word)
            )
    return found


def _man(name: str, args: Sequence[Arg], judge: Judge) -> list[Finding]:
    """Show a page; one with a slash is a file, and formatting a file can run preprocessors."""
    parsed = _MAN.parse(args, name)
    found = _MAN.findings(parsed, name, judge.here)
    found += [
        unclear(f"{arg.shown} may be a file and not a page", at=arg)
        for arg in parsed.operands
        if arg.text is None or "/" in arg.text
    ]
    return found


# Modules are named at the front of a program, by a string.
_JQ_MODULE = re.compile(r'(?:^|[;\s])(?:import|include)\s*(?:#[^\n]*\n\s*)*"')
_YQ_CODE = re.compile(r"system|load|\beval\b")


def _jq(name: str, args: Sequence[Arg], judge: Judge) -> list[Finding]:
    """Judge jq: a program can read modules, and data as modules, from anywhere."""
    parsed = _JQ.parse(args, name)
    found = _JQ.findings(parsed, name, judge.here)
    return found + [_reads_more(arg) for arg in parsed.operands[:1] if _JQ_MODULE.search(arg.text or "")]


def _reads_more(arg: Arg) -> Finding:
    return ask(f"{arg.shown} may run a program or read another file", Level.HIGH, Effect.EXEC, at=arg)


def _yq(name: str, args: Sequence[Arg], judge: Judge) -> list[Finding]:
    parsed = _YQ.parse(args, name)
    if parsed.operands and parsed.operands[0].text in ("e", "eval", "ea", "eval-all"):
        del parsed.operands[0]
    found = _YQ.findings(parsed, name, judge.here)
    found += [
        _reads_more(arg)
        for arg in [*parsed.operands[:1], *parsed.values("--expression")]
        if arg.text is None or _YQ_CODE.search(arg.text) or _JQ_MODULE.search(arg.text)
    ]
    return found


def _bat(name: str, args: Sequence[Arg], judge: Judge) -> list[Finding]:
    parsed = _BAT.parse(args, name)
    found = _BAT.findings(parsed, name, judge.here)
    if parsed.operands and parsed.operands[0].text == "cache":
        found.append(ask("changes the cache of bat", Level.LOW, Effect.WRITE))
    return found


def _xmllint(name: str, args: Sequence[Arg], judge: Judge) -> list[Finding]:
    found = _XMLLINT.judge(name, args, judge.here)
    found += [
        ask(f"{arg.shown} may be on another machine", Level.MEDIUM, Effect.NETWORK, at=arg)
        for arg in args
        if arg.text is None or "://" in arg.text
    ]
    return found


_XMLLINT = Grammar(
    "-format -noout -nonet -html -recover -xpath: -version -nowarning -stream -noblanks -o,-output:write",
    single_dash=True,
)


def _xxd(name: str, args: Sequence[Arg], judge: Judge) -> list[Finding]:
    """Judge xxd: numbers may be attached to some options, and a second operand is written."""
    words: list[Arg] = []
    is_value = False
    for index, arg in enumerate(args):
        attached = None if is_value else _XXD_NUMBER.fullmatch(arg.text or "")
        if attached:
            words += [Arg.literal(part, arg.shown, arg.start, arg.end) for part in attached.groups()]
        elif not is_value and not arg.prefix.startswith("-"):
            words += args[index:]
            break
        else:
            option = None if is_value else _XXD.table.get(arg.text or "")
            is_value = option is not None and option.arity == ":"
            words.append(arg)
    return _XXD.judge(name, words, judge.here)


_XXD_NUMBER = re.compile(r"(-[cgls])(\d+)")
_XXD = Grammar(
    "-a,-autoskip -b,-bits -C,-capitalize -c,-cols: -E,-EBCDIC -e -g,-groupsize: -h,-help -i,-include -l,-len: "
    "-n,-name: -o: -p,-ps,-plain,-postscript -r,-revert -R: -d -s,-seek: -skip: -u,-uppercase -v,-version",
    "read write",
    permutes=False,
    single_dash=True,
)


def _nm(name: str, args: Sequence[Arg], judge: Judge) -> list[Finding]:
    """Judge nm: `@file` reads more options, one of which loads a library."""
    found = _NM.judge(name, args, judge.here)
    return found + [unclear(f"{arg.shown} may hold options", at=arg) for arg in args if arg.prefix.startswith("@")]


_NM = Grammar(
    "--help --version -aABCDfgjlnoprsSuvVWPh -t,--radix: --format: -X: --debug-syms --demangle? --dynamic "
    "--defined-only --extern-only --line-numbers --no-sort --numeric-sort --print-file-name --print-size --size-sort "
    "--special-syms --undefined-only --no-demangle --portability --print-armap --reverse-sort --with-symbol-versions "
    "--plugin:exec"
)

PROGRAMS: dict[str, Program] = {
    "xmllint": _xmllint,
    "xxd": _xxd,
    "nm": _nm,
    **named("date gdate", _date),
    **named("less zless bzless xzless more zmore", _pager),
    "man": _man,
    **named(
        "apropos whatis",
        Grammar("--help --version -adelrwV -s,--sections: --long --exact --wildcard --regex", "plain*"),
    ),
    "jq": _jq,
    "yq": _yq,
    **named("bat batcat", _bat),
}
