"""A judge for tests of single programs: it knows words, not shells."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from hermitty.policy.arguments import Arg
from hermitty.policy.context import Surroundings
from hermitty.policy.effects import Effect, Finding, Level, Verdict
from hermitty.policy.evaluate import expand
from hermitty.policy.findings import unclear
from hermitty.policy.parser import parse
from hermitty.policy.programs import judge_program
from hermitty.policy.syntax.commands import Simple
from hermitty.policy.syntax.tree import walk

HERE = Surroundings(cwd="/home/me/work", workspace="/home/me/work", home="/home/me", shell="bash")

_WORD = re.compile(r"""(?:'[^']*'|"[^"]*"|<\([^)]*\)|[^\s'"])+""")
_PART = re.compile(r"""'(?P<single>[^']*)'|"(?P<double>[^"]*)"|(?P<bare>[^'"]+)""")


@dataclass(slots=True)
class Findings:
    """All that was found about a line. Empty means: nothing happens, nothing to ask."""

    items: list[Finding] = field(default_factory=list)

    @property
    def verdict(self) -> Verdict:
        """Return the gravest verdict."""
        return max((item.verdict for item in self.items), default=Verdict.ALLOW)

    @property
    def level(self) -> Level:
        """Return the gravest level."""
        return max((item.level for item in self.items), default=Level.LOW)


def words(line: str) -> list[Arg]:
    """Cut a line into words: quotes, globs, `$x` (unknown; quoted, it stays one word), `~` and `<(...)`."""
    return [_word(match.group()) for match in _WORD.finditer(line)]


def _word(source: str) -> Arg:
    if source.startswith("<("):
        return Arg(None, source, is_stream=True)
    text = ""
    is_known, is_many, is_glob = True, False, False
    for part in _PART.finditer(source):
        piece = part.group("single") or part.group("double") or part.group("bare") or ""
        is_bare = part.group("bare") is not None
        ends = [piece.find("$")] if part.group("single") is None else []
        ends += [piece.find(char) for char in "*?["] if is_bare and piece != "[" else []
        ends = [end for end in ends if end >= 0]
        text += piece[: min(ends)] if is_known and ends else piece if is_known else ""
        if ends:
            is_known = False
            is_many = is_many or is_bare
            is_glob = is_glob or (is_bare and any(char in piece for char in "*?["))
    is_home = source.startswith("~")
    return Arg(text if is_known else None, source, text, is_many=is_many, is_glob=is_glob, is_home=is_home)


@dataclass
class Judging:
    """Judges programs and the simplest of scripts: commands with `;`, `&&` and `|` between them."""

    here: Surroundings = HERE
    scripts: list[tuple[str | None, str]] = field(default_factory=list)

    def command(self, args: Sequence[Arg]) -> list[Finding]:
        if not args:
            return []
        name = args[0].text
        return [unclear("the program is not known")] if name is None else judge_program(name, args[1:], self)

    def script(self, text: Arg, shell: str) -> list[Finding]:
        self.scripts.append((text.text, shell))
        if text.text is None or re.search(r"[`>&](?!&)|\$\(", text.text.replace("&&", ";")):
            return [unclear("the script is not known")]
        return [one for line in re.split(r";|&&|\|", text.text) for one in self.command(words(line))]


def judged(line: str, here: Surroundings = HERE) -> Findings:
    """Judge one command."""
    return Findings(Judging(here).command(words(line)))


def judged_script(line: str, here: Surroundings) -> Findings:
    """Judge all commands of a line of a shell, those in substitutions, blocks and parentheses, too."""
    script = parse(line, here.shell)
    found = Findings([unclear(problem.reason) for problem in script.problems])
    for node in walk(script):
        if isinstance(node, Simple):
            args = [arg for word in node.words for arg in expand(word, {}, shell=here.shell)]
            found.items += Judging(here).command(args)
    return found


def lines(table: str) -> list[str]:
    """Return the lines of a table, without comments."""
    return [line.strip() for line in table.strip().splitlines() if line.strip() and not line.strip().startswith("# ")]


def is_allowed(line: str, here: Surroundings = HERE) -> bool:
    """Tell whether a command may run without a question, and say why not if it may not."""
    found = judged(line, here)
    reasons = [one.reason for one in found.items if one.verdict is not Verdict.ALLOW]
    assert not reasons, f"{line}: {reasons}"
    assert found.level is Level.LOW
    return True


def is_asked(line: str, here: Surroundings = HERE) -> bool:
    """Tell whether a person is asked about a command, or it is blocked."""
    found = judged(line, here)
    assert found.verdict is not Verdict.ALLOW, f"{line}: allowed"
    return True


def is_asked_at(line: str, level: Level, effect: Effect) -> bool:
    """Tell whether a person is asked about a command, at this level and for this effect."""
    found = judged(line)
    assert (found.verdict, found.level) == (Verdict.ASK, level), [one.reason for one in found.items]
    assert effect in {one.effect for one in found.items if one.level is level}
    return True
