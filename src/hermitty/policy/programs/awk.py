"""awk: its options, and its programs, which can write files and run commands.

A program is cut into tokens as the common awks do. Where they differ, or a token is not known, it counts as unclear.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from hermitty.policy import places
from hermitty.policy.arguments import Arg
from hermitty.policy.context import Judge, Surroundings
from hermitty.policy.effects import Effect, Finding, Level
from hermitty.policy.findings import ask, unclear
from hermitty.policy.options import Grammar
from hermitty.policy.programs.tables import Program, named

_AWK = Grammar(
    "--help --version -bcCghIkMnNOPrsStV -F,--field-separator: -v,--assign: -f,--file:exec -e,--source: -E,--exec:exec "
    "-i,--include:exec -l,--load:exec -o,--pretty-print?change -d,--dump-variables?change -p,--profile?change "
    "-D,--debug?exec -L,--lint? -W:exec --characters-as-bytes --traditional --posix --re-interval --sandbox --csv "
    "--non-decimal-data --use-lc-numeric --optimize --no-optimize --bignum --lint-old",
    "ask read*",
    permutes=False,
)
_TOKEN = re.compile(
    r"""(?P<blank>[ \t\r]+|\\\n|\\\r\n|\#[^\n]*)
    | (?P<string>"(?:[^"\\\n]|\\.)*")
    | (?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?|0[xX][0-9a-fA-F]+)
    | (?P<word>[A-Za-z_][A-Za-z0-9_]*)
    | (?P<operator>\|\||&&|\|&|>>|\+\+|--|\*\*=?|[-+*%^!=<>]=|[-+*%^!<>|=~?:,;(){}\[\]$\n/])""",
    re.VERBOSE | re.DOTALL,
)
_REGEX = re.compile(r"/(?:[^/\\\n\[]|\\.|\[\^?\]?[^]/\\\n]*\])*/", re.DOTALL)
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=", re.ASCII)
_CONDITIONS = ("if", "while", "for", "switch")
# Words after which a value begins: a slash there begins a pattern.
_BEFORE_VALUES = frozenset({"in", "print", "printf", "return", "else", "do", "case", "exit", "BEGIN", "END"})
_VALUE_ENDS = frozenset({")", "]", "++", "--"})


class _Unclear(Exception):
    """The program is not understood."""


@dataclass(frozen=True, slots=True)
class _Token:
    kind: str
    text: str


def _awk(name: str, args: Sequence[Arg], judge: Judge) -> list[Finding]:
    parsed = _AWK.parse(args, name)
    found = _AWK.option_findings(parsed, name, judge.here)
    files = parsed.operands
    programs = parsed.values("-e")
    # Not every awk knows `-h` and `--help`: some leave out what they do not know, and go on.
    if not parsed.has("-e", "-f", "-E", "-i"):
        programs, files = files[:1], files[1:]
    for arg in programs:
        if arg.text is None:
            found.append(unclear(f"the program {arg.shown} is only known when it runs", at=arg))
        else:
            found += _program_findings(arg, arg.text, judge.here)
    for arg in files:
        if arg.text is not None and (arg.text == "-" or _ASSIGNMENT.match(arg.text)):
            continue
        if arg.text is not None and arg.text.startswith("-"):
            found.append(unclear(f"{arg.shown} may be an option of {name}", at=arg))
        found += places.read(arg, judge.here)
    return found


def _program_findings(arg: Arg, text: str, here: Surroundings) -> list[Finding]:
    try:
        return _effects(_tokens(text), here)
    except _Unclear as error:
        return [unclear(f"the awk program is not understood: {error}", at=arg)]


def _tokens(text: str) -> list[_Token]:
    tokens: list[_Token] = []
    conditions: list[bool] = []  # for each open parenthesis: does it hold the condition of a statement?
    ends_condition = False
    pos = 0
    while pos < len(text):
        if text[pos] == "/" and _begins_pattern(tokens, ends_condition):
            match = _REGEX.match(text, pos)
            if not match:
                raise _Unclear("a pattern that may end in several places")
            tokens.append(_Token("regex", match.group()))
            pos = match.end()
            ends_condition = False
            continue
        match = _TOKEN.match(text, pos)
        if not match or not match.lastgroup:
            raise _Unclear(f"{text[pos]!r}")
        pos = match.end()
        if match.lastgroup == "blank":
            continue
        token = _Token(match.lastgroup, match.group())
        ends_condition = False
        if token.text == "(":
            conditions.append(bool(tokens) and tokens[-1].text in _CONDITIONS)
        elif token.text == ")":
            ends_condition = conditions.pop() if conditions else False
        tokens.append(token)
    return tokens


def _begins_pattern(tokens: list[_Token], ends_condition: bool) -> bool:
    """Tell whether a slash begins a pattern or divides."""
    if not tokens or ends_condition:
        return True
    last = tokens[-1]
    if last.text in ("getline", "length", "$"):
        raise _Unclear(f"a slash after {last.text}")
    if last.kind in ("string", "number", "regex"):
        return False
    if last.kind == "word":
        return last.text in _BEFORE_VALUES
    return last.text not in _VALUE_ENDS


def _effects(tokens: list[_Token], here: Surroundings) -> list[Finding]:
    found: list[Finding] = []
    depth = 0
    printing: int | None = None  # how many brackets are open around a print statement
    for index, token in enumerate(tokens):
        if token.kind == "word":
            found += _word(tokens, index, here)
            if token.text in ("print", "printf"):
                printing = depth
        elif token.kind == "operator":
            if token.text in ("(", "["):
                depth += 1
            elif token.text in (")", "]"):
                depth -= 1
            if token.text in (";", "\n", "}", "{"):
                printing = None
            elif token.text in ("|", "|&"):
                found.append(ask("awk runs a command through a pipe", Level.HIGH, Effect.EXEC))
            elif token.text in (">", ">>") and printing is not None and depth <= printing:
                path = _literal(tokens, index + 1, (";", "\n", "}"))
                target = Arg.literal(path) if path is not None else Arg(None, "a computed name")
                found += _network(path) or places.write(target, here)
    return found


def _word(tokens: list[_Token], index: int, here: Surroundings) -> list[Finding]:
    match tokens[index].text:
        case "system":
            return [ask("awk runs a command with system()", Level.HIGH, Effect.EXEC)]
        case "ARGV" | "ARGC":
            return [unclear("the awk program may choose its own files")]
        case "getline":
            return _getline(tokens, index, here)
    return []


def _getline(tokens: list[_Token], index: int, here: Surroundings) -> list[Finding]:
    """Judge the file behind `getline [variable] <`."""
    depth = 0
    for at in range(index + 1, len(tokens)):
        text = tokens[at].text
        if text in ("[", "("):
            depth += 1
        elif text in ("]", ")"):
            depth -= 1
        if depth < 0 or text in (";", "\n", "{", "}", "&&", "||"):
            return []
        if text in ("<", "<=") and depth == 0:
            path = _literal(tokens, at + 1, (";", "\n", "}", ")", ">", ">="))
            if path is None:
                return [unclear("awk reads a file with a computed name")]
            return _network(path) or places.read(Arg.literal(path), here)
    return []


def _network(path: str | None) -> list[Finding]:
    if path is not None and path.startswith("/inet"):
        return [ask(f"awk connects to {path}", Level.HIGH, Effect.NETWORK)]
    return []


def _literal(tokens: list[_Token], index: int, ends: tuple[str, ...]) -> str | None:
    """Return the string at a place, if nothing is appended to it and it has no escapes."""
    if index >= len(tokens) or tokens[index].kind != "string" or "\\" in tokens[index].text:
        return None
    if index + 1 < len(tokens) and tokens[index + 1].text not in ends:
        return None
    return tokens[index].text[1:-1]


PROGRAMS: dict[str, Program] = named("awk gawk mawk nawk original-awk", _awk)
