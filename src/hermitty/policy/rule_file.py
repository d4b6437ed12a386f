"""Rules as TOML text.

    deny = ["git push", "npm publish"]

    [[rule]]
    decision = "allow"
    command = ["npm", "run", "test"]     # or "npm run test"
    paths = "workspace"
    expires = 2030-01-01T00:00:00Z
    examples = ["npm run test"]
    counter_examples = ["npm run deploy"]

What is wrong with one rule disables that rule, and is told with its line. Even in a text that is not TOML, the rules
that are count: each one is then read on its own.
"""

import re
import tomllib
from bisect import bisect_right
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from datetime import UTC, datetime
from difflib import get_close_matches
from typing import Final

from hermitty.errors import InvalidRule
from hermitty.policy.effects import Level
from hermitty.policy.rule import ANYTHING, Action, Layer, Rule, pattern_of, words_of

MAX_RULES: Final = 2000
_MAX_EXAMPLES: Final = 20

_HEADER = re.compile(r"[ \t]*\[\[[ \t]*rule[ \t]*\]\][ \t]*(?:#.*)?\r?")
_STRINGS = (
    r'"""(?:\\.|[^\\])*?"""(?:"{0,2})',
    r"'''.*?'''(?:'{0,2})",
    r'"(?:\\.|[^"\\\n])*"',
    r"'[^'\n]*'",
)
_TOKEN = re.compile(rf"#[^\n]*|({'|'.join(_STRINGS)})|(^[ \t]*\[\[[ \t]*rule[ \t]*\]\])", re.DOTALL | re.MULTILINE)
_ELEMENT = re.compile(rf"#[^\n]*|({'|'.join(_STRINGS)})|(\])", re.DOTALL)
# tomllib tells the place in its message only.
_PLACE = re.compile(r" \(at (?:line (\d+), column \d+|end of document)\)$")
_NOTHING_SAID: Final = frozenset(("workspace", "version"))  # for people who read the file


@dataclass(frozen=True, slots=True)
class RuleProblem:
    """Something that is wrong with a file of rules. A rule that it is about is not in use."""

    line: int
    text: str


@dataclass(frozen=True, slots=True)
class Placed:
    """A rule with the lines it stands on: the first, and the one behind the last. None of its own: part of a list."""

    rule: Rule
    line: int
    end: int | None


@dataclass(slots=True)
class RuleFile:
    """The rules of a text, in their order, and what is wrong with it."""

    placed: list[Placed] = field(default_factory=list)
    problems: list[RuleProblem] = field(default_factory=list)

    @property
    def rules(self) -> list[Rule]:
        """Return the rules that can be used."""
        return [placed.rule for placed in self.placed]


def parse_rules(text: str, *, name: str, layer: Layer) -> RuleFile:
    """Read a text; `name` is the file's, for the origin of its rules. Never raises."""
    return _Reader(text.replace("\r\n", "\n"), name, layer).read()


def rule_of(table: Mapping[str, object], *, layer: Layer = Layer.USER, origin: str = "") -> Rule:
    """Make a rule of plain values, as TOML and JSON have them, or raise InvalidRule."""
    for key in table:
        if key not in _KEYS:
            near = get_close_matches(key, _KEYS, n=1)
            raise InvalidRule(f"a rule has no {key!r}" + (f"; did you mean {near[0]}?" if near else ""))
    for key in ("decision", "command"):
        if key not in table:
            raise InvalidRule(f"the rule has no {key}")
    command = table["command"]
    flags = table.get("flags")
    level = table.get("level")
    return Rule.checked(
        Rule(
            decision=Action(_chosen("decision", table["decision"], tuple(Action))),
            command=words_of(command) if isinstance(command, str) else pattern_of(_texts("command", command)),
            id=_text("id", table.get("id", "")),
            exact=_truth("exact", table.get("exact", False)),
            flags=None if flags is None else _texts("flags", flags),
            paths=_text("paths", table.get("paths", ANYTHING)),
            writes=_truth("writes", table.get("writes", False)),
            shells=_texts("shells", table.get("shells", [])),
            cwd=None if table.get("cwd") is None else _text("cwd", table["cwd"]),
            level=None if level is None else Level[_chosen("level", level, _LEVELS).upper()],
            expires_at=_moment(table.get("expires")),
            reason=_text("reason", table.get("reason", "")),
            examples=_examples("examples", table.get("examples", [])),
            counter_examples=_examples("counter_examples", table.get("counter_examples", [])),
            layer=layer,
            origin=origin,
        )
    )


def table_of(rule: Rule) -> dict[str, object]:
    """Return a rule as plain values: what `rule_of` takes."""
    values: dict[str, object] = {"id": rule.id, "decision": rule.decision.value, "command": list(rule.command) or ["*"]}
    plain = Rule(rule.decision, rule.command)
    for name in ("exact", "paths", "writes", "cwd", "reason"):
        if getattr(rule, name) != getattr(plain, name):
            values[name] = getattr(rule, name)
    for name in ("flags", "shells", "examples", "counter_examples"):
        if getattr(rule, name) != getattr(plain, name):
            values[name] = list(getattr(rule, name))
    if rule.level is not None:
        values["level"] = rule.level.label
    if rule.expires_at is not None:
        values["expires"] = datetime.fromtimestamp(rule.expires_at, UTC).isoformat().replace("+00:00", "Z")
    return values


def rule_text(rule: Rule) -> str:
    """Return a rule as TOML."""
    return "[[rule]]\n" + "".join(f"{name} = {_toml(value)}\n" for name, value in table_of(rule).items())


def without(text: str, placed: Placed) -> str:
    """Return the text without a rule that stands on lines of its own."""
    if placed.end is None:
        raise InvalidRule(f"the rule stands in a list at {placed.rule.origin}; take it out there")
    lines = re.split(r"(?<=\n)", text)
    end = min(placed.end - 1, len(lines))
    # What stands before the next rule may belong to it.
    while end > placed.line and (not lines[end - 1].strip() or lines[end - 1].lstrip().startswith("#")):
        end -= 1
    kept = lines[: placed.line - 1] + lines[end:]
    return "".join(kept)


_LEVELS = tuple(level.label for level in Level)
_KEYS = (
    *(each.name for each in fields(Rule) if each.name not in ("expires_at", "layer", "origin")),
    "expires",
)


class _Reader:
    def __init__(self, text: str, name: str, layer: Layer) -> None:
        self.text = text
        self.name = name
        self.layer = layer
        self.file = RuleFile()
        self.ids: set[str] = set()
        self.ends = [match.start() for match in re.finditer("\n", text)]

    def read(self) -> RuleFile:
        content = _loaded(self.text)
        if isinstance(content, dict):
            self._document(content, list(self._headers()))
        else:
            self._by_pieces()
        return self.file

    def _by_pieces(self) -> None:
        """Read every rule of a text on its own, because the text as a whole is not TOML."""
        lines = self.text.split("\n")
        starts = [0, *(number for number, line in enumerate(lines) if _HEADER.fullmatch(line))]
        ends = [*starts[1:], len(lines)]
        for start, end in zip(starts, ends, strict=True):
            piece = "\n".join(lines[start:end])
            content = _loaded(piece)
            if isinstance(content, dict):
                self._document(content, [start + 1], end + 1, start)
            else:
                line, problem = content
                self._tell(start + line, f"not valid TOML: {problem}")

    def _document(
        self, content: dict[str, object], headers: list[int], end: int | None = None, before: int = 0
    ) -> None:
        for key, value in content.items():
            if key == "rule":
                self._rules(value, headers, end)
            elif key in tuple(Action):
                self._list(Action(key), value, before)
            elif key not in _NOTHING_SAID:
                self._tell(
                    self._line_of_key(key, before), f"there is no {key!r} in a file of rules; rules are [[rule]]"
                )

    def _rules(self, tables: object, headers: list[int], end: int | None) -> None:
        if not isinstance(tables, list) or len(tables) > len(headers):
            self._tell(headers[0] if headers else 1, "rules are written as [[rule]], each on lines of its own")
            return
        last = end or len(self.ends) + 2
        for table, line, following in zip(tables, headers, [*headers[1:], last], strict=False):
            try:
                if not isinstance(table, dict):
                    raise InvalidRule("a rule is a table")
                self._add(rule_of(table, layer=self.layer, origin=f"{self.name}:{line}"), line, following)
            except InvalidRule as error:
                self._tell(line, str(error))

    def _list(self, decision: Action, commands: object, before: int) -> None:
        line = self._line_of_key(decision.value, before)
        if not isinstance(commands, list):
            self._tell(line, f"{decision} must be a list of commands")
            return
        lines = list(self._elements(line))
        for number, command in enumerate(commands):
            at = lines[number] if len(lines) == len(commands) else line
            try:
                table = {"decision": decision.value, "command": command}
                self._add(rule_of(table, layer=self.layer, origin=f"{self.name}:{at}"), at, None)
            except InvalidRule as error:
                self._tell(at, str(error))

    def _add(self, rule: Rule, line: int, end: int | None) -> None:
        if len(self.file.placed) >= MAX_RULES:
            raise InvalidRule(f"there are more than {MAX_RULES} rules")
        if rule.id in self.ids:
            raise InvalidRule(f"another rule before it has the id {rule.id}, or says the same")
        self.ids.add(rule.id)
        self.file.placed.append(Placed(rule, line, end))

    def _tell(self, line: int, text: str) -> None:
        self.file.problems.append(RuleProblem(line, text))

    def _headers(self) -> Iterator[int]:
        for match in _TOKEN.finditer(self.text):
            if match.group(2):
                yield self._line(match.end())

    def _line_of_key(self, key: str, before: int) -> int:
        for match in re.finditer(rf"^[ \t]*[\"']?{re.escape(key)}[\"']?[ \t]*[=.]", self.text, re.MULTILINE):
            if (line := self._line(match.end())) > before:
                return line
        return before + 1

    def _elements(self, line: int) -> Iterator[int]:
        start = self.ends[line - 2] + 1 if line > 1 else 0
        equals = self.text.find("=", start)
        for match in _ELEMENT.finditer(self.text, equals):
            if match.group(2):
                return
            if match.group(1):
                yield self._line(match.start())

    def _line(self, at: int) -> int:
        return bisect_right(self.ends, at - 1) + 1


def _loaded(text: str) -> dict[str, object] | tuple[int, str]:
    """Return the content of a TOML text, or the line and what is wrong there."""
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as exc:
        message = str(exc)
        found = _PLACE.search(message)
        if found is None:
            return 1, message
        return int(found[1]) if found[1] else text.count("\n") + 1, message[: found.start()]
    except (ValueError, RecursionError) as exc:  # a number of thousands of digits, brackets without end
        return 1, str(exc)


def _text(name: str, value: object) -> str:
    if not isinstance(value, str) or "\0" in value:
        raise InvalidRule(f"{name} must be a text")
    return value


def _truth(name: str, value: object) -> bool:
    if not isinstance(value, bool):
        raise InvalidRule(f"{name} must be true or false")
    return value


def _texts(name: str, value: object) -> tuple[str, ...]:
    if not isinstance(value, list | tuple) or not all(isinstance(each, str) for each in value):
        raise InvalidRule(f"{name} must be a list of texts")
    return tuple(value)


def _examples(name: str, value: object) -> tuple[str, ...]:
    texts = _texts(name, value)
    if len(texts) > _MAX_EXAMPLES or not all(text.strip() for text in texts):
        raise InvalidRule(f"{name} must be at most {_MAX_EXAMPLES} lines, none of them empty")
    return texts


def _chosen(name: str, value: object, choices: tuple[str, ...]) -> str:
    if not isinstance(value, str) or value not in choices:
        raise InvalidRule(f"{name} must be one of {', '.join(choices)}")
    return value


def _moment(value: object) -> float | None:
    if value is None:
        return None
    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(value)
        except ValueError:
            raise InvalidRule("expires is not a time; write one such as 2030-01-01T00:00:00Z") from None
    if not isinstance(value, datetime) or value.tzinfo is None:
        raise InvalidRule("expires must be a time with its zone, such as 2030-01-01T00:00:00Z")
    return value.timestamp()


def _toml(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list):
        return "[" + ", ".join(map(_toml, value)) + "]"
    return '"' + "".join(map(_escaped, str(value))) + '"'


def _escaped(char: str) -> str:
    if char in '"\\':
        return "\\" + char
    if char.isprintable():
        return char
    code = ord(char)
    if 0xD800 <= code < 0xE000:  # half of a character, which TOML has no way to write
        return "\\uFFFD"
    return f"\\u{code:04X}" if code < 0x10000 else f"\\U{code:08X}"
