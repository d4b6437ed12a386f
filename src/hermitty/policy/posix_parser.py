"""Parses a line of bash, zsh or a POSIX shell: lists, pipelines and simple commands.

Never raises, and takes time in proportion to the length. What is not understood becomes a problem of the script, with
what was read before it in the body. A recursive descent: `statements` > `and_or` > `pipeline` > `command`; compound
commands are in `compounds`, words in `words`.

Decisions: history expansion is off in the terminals of bash; in zsh a `!word` is a problem (see `quoting`). Aliases,
also global ones of zsh, cannot be seen here. For `sh`, what bash and dash read in different ways is a problem.
"""

from hermitty.policy.arithmetic import arithmetic
from hermitty.policy.compounds import COMPOUND, read_compound, read_function_body
from hermitty.policy.conditionals import skip_newlines
from hermitty.policy.lexing import NAME, Grammar, Scanner, Unparsable
from hermitty.policy.operands import operand
from hermitty.policy.redirects import read_redirect
from hermitty.policy.syntax.commands import AndOr, Assignment, Command, Function, Pipeline, Redirect, Simple, Statement
from hermitty.policy.syntax.script import Problem, Script
from hermitty.policy.syntax.words import Word
from hermitty.policy.words import read_array, read_word

# Their arguments are read as assignments, arrays too.
_DECLARING = frozenset(("declare", "typeset", "local", "export", "readonly"))
# Words that cannot begin a command.
_CLOSING = frozenset(("then", "do", "done", "fi", "elif", "else", "esac", "}"))
_NOTHING: frozenset[str] = frozenset()


def parse_posix(line: str, shell: str) -> Script:
    """Parse a line for "bash", "zsh" or "sh"."""
    return scan(line, shell)[0]


def scan(line: str, shell: str) -> tuple[Script, int]:
    """Parse a line, and count the steps that it took."""
    s = Scanner(line, shell, _GRAMMAR, end=len(line))
    body: list[Statement] = []
    try:
        _statements(s, _NOTHING, body)
        if s.char:
            raise s.fail(f"unexpected `{s.char}`")
        if s.pending:
            raise s.fail("a here-document has no text")
    except Unparsable as error:
        s.problems.append(Problem(error.reason, error.start, len(line)))
    # A comment may be looked at more than once.
    return Script(shell, tuple(body), tuple(dict.fromkeys(s.problems)), 0, len(line)), s.steps


def script(s: Scanner, closing: str) -> Script:
    """Read up to a closing character, or to the end if that is ""."""
    start = s.pos
    body = statements(s, frozenset((closing,)) if closing else _NOTHING)
    if not closing and s.char:
        raise s.fail(f"unexpected `{s.char}`")
    return Script(s.shell, body, (), start, s.pos)


def statements(s: Scanner, stops: frozenset[str]) -> tuple[Statement, ...]:
    """Read commands up to one of the reserved words or closing tokens in `stops`, which is left for the caller."""
    body: list[Statement] = []
    _statements(s, stops, body)
    return tuple(body)


def _statements(s: Scanner, stops: frozenset[str], body: list[Statement]) -> None:
    while True:
        skip_newlines(s)
        if not s.char or s.char == ")" or s.at(";;") or (s.at(";&") and ";;" in stops):
            return
        if s.reserved() in stops:
            return
        start = s.pos
        if s.is_zsh and s.char == ";":
            s.pos += 1
            continue
        command = and_or(s)
        end = s.pos
        s.skip_blanks()
        is_background = False
        if s.char == "&":
            is_background = True
            s.pos += 1
            if s.is_zsh and s.char and s.char in "|!":
                s.pos += 1
            end = s.pos
        elif s.char == ";":
            if not (s.at(";;") or s.at(";&") or (s.is_zsh and s.at(";|"))):
                s.pos += 1
                end = s.pos
        elif s.char and s.char not in "\n)" and s.reserved() not in stops:
            raise s.fail(f"unexpected `{s.char}`")
        if s.at("\\\n") and s.text[s.pos - 1] in "&;":
            raise s.fail("a line continuation after an operator")
        body.append(Statement(command, is_background, start, end))


def and_or(s: Scanner) -> Command:
    """Read pipelines joined by `&&` and `||`."""
    start = s.pos
    commands = [pipeline(s)]
    operators: list[str] = []
    while True:
        at = s.pos
        s.skip_blanks()
        if not (s.at("&&") or s.at("||")):
            s.pos = at
            break
        operators.append(s.text[s.pos : s.pos + 2])
        s.pos += 2
        skip_newlines(s)
        commands.append(pipeline(s))
    return commands[0] if len(commands) == 1 else AndOr(tuple(commands), tuple(operators), start, s.pos)


def pipeline(s: Scanner) -> Command:
    """Read commands joined by `|` and `|&`, after any `!` and `time`."""
    start = s.pos
    is_negated = is_timed = False
    while (word := s.reserved()) in ("!", "time"):
        if word == "!":
            if s.at("!("):
                raise s.fail("a pattern or a negated subshell: not clear which")
            is_negated = not is_negated
        else:
            s.only_bash("`time`", s.pos)
        is_timed |= word == "time"
        s.pos += len(word)
        s.skip_blanks()
        if word == "time" and s.at("-p") and s.text[s.pos + 2 : s.pos + 3] in ("", *" \t\n;&|"):
            s.pos += 2
            s.skip_blanks()
    if (is_timed or is_negated) and (not s.char or s.char in "\n;&|)"):
        return Pipeline((), (), is_negated, is_timed, start, s.pos)
    commands = [command(s)]
    operators: list[str] = []
    while True:
        at = s.pos
        s.skip_blanks()
        if s.char != "|" or s.at("||"):
            s.pos = at
            break
        operator = "|&" if s.at("|&") else "|"
        s.pos += len(operator)
        if s.at("\\\n") and s.text[s.pos + 2 : s.pos + 3] in ("|", "&"):
            raise s.fail("a line continuation inside an operator")
        operators.append(operator)
        if operator == "|&":
            s.only_bash("`|&`", at)
        skip_newlines(s)
        commands.append(command(s))
    if len(commands) == 1 and not (is_negated or is_timed):
        return commands[0]
    return Pipeline(tuple(commands), tuple(operators), is_negated, is_timed, start, s.pos)


def command(s: Scanner) -> Command:
    """Read one command, compound or simple."""
    word = s.reserved()
    if s.char == "(" or word in COMPOUND or (s.is_zsh and word in ("repeat", "foreach")):
        s.enter()
        found = read_compound(s, word)
        s.leave()
        return found
    if word in _CLOSING:
        raise s.fail(f"unexpected `{word}`")
    return _simple(s)


def _simple(s: Scanner) -> Command:
    start = end = s.pos
    assignments: list[Assignment] = []
    words: list[Word] = []
    redirects: list[Redirect] = []
    declares = False
    while True:
        at = s.pos
        s.skip_blanks()
        char = s.char
        redirect = read_redirect(s)
        if redirect is not None:
            redirects.append(redirect)
        elif not char or char in ";&|)\n" or (s.is_zsh and words and s.open_groups and s.reserved() == "}"):
            s.pos = at
            break
        elif char == "(":
            if len(words) == 1 and not assignments and not redirects:
                return _function(s, words[0])
            raise s.fail("unexpected `(`")
        elif not words and (assignment := _assignment(s)) is not None:
            assignments.append(assignment)
        else:
            words.append(read_word(s, arrays=declares))
            if len(words) == 1:
                _check_name(s, words[0])
            declares = declares or words[-1].literal in _DECLARING
        end = s.pos
    if end == start:
        raise s.fail(f"unexpected `{s.char}`" if s.char else "a command is missing at the end")
    return Simple(tuple(assignments), tuple(words), tuple(redirects), start, end)


def _check_name(s: Scanner, word: Word) -> None:
    """Reject command names that may be read in two ways."""
    if s.has_continuation:
        raise Unparsable("a line continuation inside the name of a command", word.start)
    if s.is_zsh and word.source.startswith("{") and word.source != "{":
        raise Unparsable("a brace at the front of a command", word.start)


def _function(s: Scanner, name: Word) -> Function:
    s.pos += 1
    s.skip_blanks()
    if s.char != ")":
        raise s.fail("unexpected `(`")
    s.pos += 1
    if name.literal is None or name.is_quoted:
        raise Unparsable("the name of a function is not plain", name.start)
    return read_function_body(s, (name,), name.start)


def _assignment(s: Scanner) -> Assignment | None:
    """Read `name=value`, `name[i]=value`, `name+=value`; None if none stands here."""
    start = s.pos
    match = NAME.match(s.text, start, s.end)
    if not match:
        return None
    after = match.end()
    bracket = s.text.startswith("[", after, s.end)
    if bracket:
        close = s.matching(after + 1, "[", "]")
        if close < 0:
            raise s.fail("`[` is not closed")
        after = close + 1
    operator = "+=" if s.text.startswith("+=", after, s.end) else "="
    if not s.text.startswith(operator, after, s.end):
        if bracket and any(blank in s.text[start:after] for blank in " \t\n"):
            raise s.fail("a subscript without an assignment")
        return None
    subscript = None
    if bracket:
        s.pos = match.end() + 1
        s.enter()
        subscript = operand(s, "]", False, False)
        s.leave()
        if s.pos != after - 1:
            raise Unparsable("the end of a subscript is not clear", start)
        s.only_bash("an array", start)
    s.pos = after + len(operator)
    if operator == "+=":
        s.only_bash("`+=`", start)
    if s.char == "(":
        at = s.pos
        array = read_array(s)
        value = Word((array,), s.text[at : s.pos], at, s.pos)
    elif not s.char or s.char in " \t\n;&|)" or (s.char in "<>" and not s.text.startswith("(", s.pos + 1, s.end)):
        value = Word((), "", s.pos, s.pos)
    else:
        value = read_word(s, assigns=True)
    return Assignment(match.group(), subscript, operator, value, start, s.pos)


_GRAMMAR = Grammar(script, statements, command, operand, arithmetic)
