"""What to run next, after a command and its output: at most three commands, each with its reason.

The rules are data, in `suggest_rules`. Output is hostile: what is taken from it is quoted as one word for the shell,
never starts an option, and is dropped when it does not print. Nothing here suggests sudo, deletes or overwrites. Looks
at a bounded part of the output, and never raises.
"""

import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import PurePosixPath

from hermitty.output.nearest import nearest
from hermitty.output.parse_git import git_subcommand
from hermitty.output.structured import structured
from hermitty.output.suggest_rules import (
    FAILURES,
    GIT_COMMANDS,
    JS_INSTALL,
    JS_INSTALL_ALL,
    LOCAL_MODULES,
    PACKAGE_OF_MODULE,
    PY_INSTALL,
    SUCCESSES,
    SUCCESSES_ALONE,
    TELLING_FILES,
    TEXT_ENDINGS,
    Confidence,
    Rule,
    Template,
)
from hermitty.output.words import (
    SimpleCommand,
    name_of,
    operands,
    own_words,
    program,
    quoted,
    simple_commands,
    unwrapped,
)

MAX_SUGGESTIONS = 3
_HEAD_LINES = 60
_TAIL_LINES = 200
_MAX_LINE_CHARS = 500
_MAX_TEXT_CHARS = 64 * 1024
_MAX_NAMED_CHARS = 80
_INTERRUPTED = frozenset({130, 131, 143})
_WINDOWS_SHELLS = frozenset({"pwsh", "powershell", "cmd"})
_SLOT = re.compile(r"\{(\w+)\}")
_PYTHON = re.compile(r"(?:python|pypy)[0-9.]*\Z|py\Z")
_PATHS = frozenset({"script", "operand", "parent", "path", "file", "clone", "made", "activate", "third", "entry"})
_ABORTABLE = {"merge": "merge", "pull": "merge", "rebase": "rebase", "cherry-pick": "cherry-pick", "revert": "revert"}
_RANKS: dict[Confidence, int] = {"high": 0, "medium": 1, "low": 2}

Names = Callable[[], Iterable[str]] | Sequence[str]


@dataclass(frozen=True, slots=True)
class SuggestContext:
    """What is known after a command. `names_on_path` is asked only when a name is looked for; None is not known."""

    command: str
    exit_code: int | None
    text: str
    shell: str = "bash"
    cwd: str | None = None
    names_on_path: Names | None = None
    on_terminal: bool = True


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A command line for the shell of the context, and why it may help."""

    command: str
    reason: str
    confidence: Confidence = "medium"


def suggest(context: SuggestContext) -> list[Suggestion]:
    """Suggest what to run next, the likeliest first."""
    commands = simple_commands(context.command)
    if not commands or context.exit_code in _INTERRUPTED:
        return []
    # The exit code of a pipeline is that of its last command: `pytest | tail` succeeds whatever the tests do.
    is_piped = commands[-1].is_piped
    found: list[Suggestion] = []
    if context.exit_code != 0 or is_piped:
        found = list(_after_failure(context, commands))
    if not found and context.exit_code == 0 and not is_piped:
        found = [*_after_success(context, commands[-1]), *_after_listing(context)]
    found.sort(key=lambda suggestion: _RANKS[suggestion.confidence])
    unique = {suggestion.command: suggestion for suggestion in reversed(found) if suggestion.command != context.command}
    return list(reversed(unique.values()))[:MAX_SUGGESTIONS]


def _after_failure(context: SuggestContext, commands: Sequence[SimpleCommand]) -> Iterator[Suggestion]:
    lines = _telling_lines(context.text)
    for rule in FAILURES:
        command = next((command for command in commands if _runs(command, rule.programs)), None)
        if command is None:
            continue
        pattern = _compiled(rule.pattern or "")
        for line in lines if rule.takes == "first" else reversed(lines):
            match = pattern.match(line)
            if match is None:
                continue
            values = {
                name.rstrip("0123456789"): value for name, value in match.groupdict().items() if value is not None
            }
            made = list(_fill_rule(rule, values, context, commands, command))
            yield from made
            if made:
                break


def _after_success(context: SuggestContext, command: SimpleCommand) -> Iterator[Suggestion]:
    for rule in SUCCESSES:
        if _runs(command, rule.programs):
            yield from _fill_rule(rule, {}, context, (command,), command)
    words = program(command.words)
    if words and words[0] in SUCCESSES_ALONE and not operands(words):
        yield from _fill(SUCCESSES_ALONE[words[0]], {}, {}, context)


def _after_listing(context: SuggestContext) -> Iterator[Suggestion]:
    """Suggest to look at what a listing shows: a file that tells what the directory is, then a directory."""
    commands = simple_commands(context.command) or []
    words = program(commands[-1].words) if commands else ()
    listed = structured(context.command, context.text, exit_code=0, on_terminal=context.on_terminal)
    places = operands(words)
    if listed is None or listed.kind != "files" or not isinstance(listed.data, list) or len(places) > 1:
        return
    entries = [entry for entry in listed.data if isinstance(entry, dict)]
    if len({entry.get("parent") for entry in entries}) > 1:
        return
    files = [str(entry["filename"]) for entry in entries if entry.get("type", "file") == "file"]
    directories = [str(entry["filename"]) for entry in entries if entry.get("type") == "directory"]
    at = f"{places[0].rstrip('/')}/" if places else ""
    if any(char in at for char in "*?[{$`~"):
        return
    telling = [name for name in TELLING_FILES if name in files][:1]
    others = [name for name in files if name.endswith(TEXT_ENDINGS) and name not in telling][:1]
    is_windows = context.shell in _WINDOWS_SHELLS
    for name in telling:
        template = Template(("type" if is_windows else "cat", "{entry}"), "{entry} tells what the directory is for")
        yield from _fill(template, {"entry": at + name}, {}, context)
    for name in others:
        template = Template(
            ("head", "-n", "40", "{entry}"), "shows the beginning of a file that was listed", "low", "posix"
        )
        yield from _fill(template, {"entry": at + name}, {}, context)
    for name in [name for name in directories if name not in (".", "..", ".git")][:1]:
        lister = ("dir",) if is_windows else ("ls", "-la")
        template = Template((*lister, "{entry}"), "looks into a directory that was listed", "low")
        yield from _fill(template, {"entry": at + name}, {}, context)


def _telling_lines(text: str) -> list[str]:
    """Return the lines at both ends of the output, each within a limit."""
    if len(text) > 2 * _MAX_TEXT_CHARS:
        head, tail = text[:_MAX_TEXT_CHARS].split("\n"), text[-_MAX_TEXT_CHARS:].split("\n")[1:]
        lines = head[:_HEAD_LINES] + tail[-_TAIL_LINES:]
    else:
        lines = text.split("\n")
        if len(lines) > _HEAD_LINES + _TAIL_LINES:
            lines = lines[:_HEAD_LINES] + lines[-_TAIL_LINES:]
    return [line[:_MAX_LINE_CHARS].rstrip("\r") for line in lines]


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)


def _runs(command: SimpleCommand, programs: Sequence[str]) -> bool:
    """Tell whether a command is one of the programs of a rule, such as `git clone`."""
    if not programs:
        return True
    words = program(command.words)
    if words[:1] == ("git",):
        words = ("git", *git_subcommand(words))
    return any(words[: len(parts)] == parts for parts in (tuple(wanted.split()) for wanted in programs))


def _fill_rule(
    rule: Rule,
    values: dict[str, str],
    context: SuggestContext,
    commands: Sequence[SimpleCommand],
    command: SimpleCommand,
) -> Iterator[Suggestion]:
    slots = _derived(rule, values, context, commands, command)
    if slots is None:
        return
    spliced = _own_spliced(commands, command)
    if "unknown" in slots:
        for template in rule.templates:
            yield from _corrections(template, slots["unknown"], context, commands, is_git="git" in rule.programs)
        return
    has_alternatives = any(template.needs for template in rule.templates)
    for template in rule.templates:
        filled = list(_fill(template, slots, spliced, context))
        yield from filled
        if filled and has_alternatives:
            return


def _derived(
    rule: Rule,
    values: dict[str, str],
    context: SuggestContext,
    commands: Sequence[SimpleCommand],
    command: SimpleCommand,
) -> dict[str, str] | None:
    """Add the values that follow from those of the output and from the command; None when the rule does not hold."""
    slots = dict(values)
    words = program(command.words)
    all_words = {word for each in commands for word in each.words}
    if "operand" in slots:
        if slots["operand"] not in all_words:
            return None
        slots["parent"] = str(PurePosixPath(slots["operand"]).parent)
    if "script" in slots and slots["script"] not in {unwrapped(each.words)[0] for each in commands}:
        return None
    if "module" in slots:
        is_python = "Python" in rule.name
        if is_python and (slots["module"] in sys.stdlib_module_names or slots["module"] in LOCAL_MODULES):
            return None
        slots["package"] = PACKAGE_OF_MODULE.get(slots["module"], slots["module"]) if is_python else slots["module"]
    if "port" in slots and not 0 < int(slots["port"]) < 65536:
        return None
    if "line" in slots:
        file = _inside(slots["file"], context.cwd)
        if file is None:
            return None
        line = int(slots["line"])
        slots |= {"file": file, "from": str(max(1, line - 5)), "to": str(line + 5)}
    if words[:1] == ("git",):
        git = git_subcommand(words)
        if git[:1] and git[0] in _ABORTABLE:
            slots["operation"] = _ABORTABLE[git[0]]
        if git[:1] == ("clone",) and (clone := _clone_directory(git)):
            slots["clone"] = clone
    places = operands(words)
    if len(places) == 1:
        ending = ".fish" if context.shell == "fish" else ""
        slots |= {"made": places[0], "activate": f"{places[0].rstrip('/')}/bin/activate{ending}"}
    if len(words) > 2:
        slots["third"] = words[2]
    return slots


def _inside(path: str, cwd: str | None) -> str | None:
    """Return a path below the directory relative to it; None for any other, which output has no business to name."""
    if cwd and path.startswith(cwd.rstrip("/") + "/"):
        path = path[len(cwd.rstrip("/")) + 1 :]
    is_below = not path.startswith(("/", "~", "<")) and ".." not in path.split("/")
    return path if path and is_below else None


def _clone_directory(git: Sequence[str]) -> str | None:
    """Return where `git clone` puts the repository, when the options do not make that unclear."""
    places = operands(git)
    has_option_values = any(word.startswith("-") and "=" not in word for word in git[1:])
    if has_option_values:
        # `--depth 1 URL`: the values of options look like operands; the address is what has a slash or a colon.
        at = next((number for number, word in enumerate(places) if "/" in word or ":" in word), len(places))
        places = places[at:]
    if not places or len(places) > 2 or "--bare" in git or "--mirror" in git:
        return None
    if len(places) == 2:
        return places[1]
    last = re.split(r"[/:\\]", places[0].rstrip("/").removesuffix("/.git"))[-1]
    return last.removesuffix(".git") or None


def _own_spliced(commands: Sequence[SimpleCommand], command: SimpleCommand) -> dict[str, tuple[str, ...]]:
    """Return the words of the command line itself that templates repeat: how a tool was called."""
    words = unwrapped(command.words)
    own = own_words(command.words)
    names = [name_of(unwrapped(each.words)[0]) for each in commands]
    pip: tuple[str, ...] = ("python3", "-m", "pip", "install")
    for each in commands:
        first = unwrapped(each.words)[0]
        directory, _, name = first.rpartition("/")
        if _PYTHON.match(name):
            pip = (first, "-m", "pip", "install")
        elif directory.endswith("/bin") or directory == "bin":
            pip = (f"{directory}/python", "-m", "pip", "install")
    return {
        "runner": (*words[: len(words) - len(own)], own[0]) if own else (),
        "py_install": next((PY_INSTALL[name] for name in names if name in PY_INSTALL), pip),
        "js_install": next((JS_INSTALL[name] for name in names if name in JS_INSTALL), ("npm", "install")),
        "js_install_all": next((JS_INSTALL_ALL[name] for name in names if name in JS_INSTALL_ALL), ("npm", "install")),
    }


def _corrections(
    template: Template, unknown: str, context: SuggestContext, commands: Sequence[SimpleCommand], *, is_git: bool
) -> Iterator[Suggestion]:
    """Suggest the command line again, with the nearest names in place of the one that is not known."""
    span = next((span for each in commands if (span := _span_of(unknown, each, is_git=is_git))), None)
    if span is None or not context.command.isprintable():
        return
    names = GIT_COMMANDS if is_git else _names(context)
    likely = template.confidence
    for name in nearest(unknown, names):
        line = context.command[: span[0]] + name + context.command[span[1] :]
        yield Suggestion(line, _worded(template.reason, {"unknown": unknown, "nearest": name}), likely)
        likely = "medium"


def _span_of(unknown: str, command: SimpleCommand, *, is_git: bool) -> tuple[int, int] | None:
    rest = git_subcommand(unwrapped(command.words)) if is_git else unwrapped(command.words)
    at = len(command.words) - len(rest)
    return command.spans[at] if rest and rest[0] == unknown else None


def _names(context: SuggestContext) -> Iterable[str]:
    names = context.names_on_path
    if names is None:
        return ()
    return names() if callable(names) else names


def _fill(
    template: Template, slots: dict[str, str], spliced: dict[str, tuple[str, ...]], context: SuggestContext
) -> Iterator[Suggestion]:
    """Make a template's command: every word is quoted as a whole. Nothing when one of its values cannot be had."""
    is_windows = context.shell in _WINDOWS_SHELLS
    if template.shells != "any" and is_windows != (template.shells == "windows"):
        return
    if template.needs and context.names_on_path is not None and template.needs not in _names(context):
        return
    words: list[str] = []
    for pattern in template.words:
        if pattern.startswith("*"):
            words += spliced.get(pattern[1:], ())
            continue
        slot_names = _SLOT.findall(pattern)
        if any(name not in slots for name in slot_names):
            return
        word = _SLOT.sub(lambda found: slots[found[1]], pattern)
        if word.startswith("-") and pattern.startswith("{"):
            if slot_names[0] not in _PATHS:
                return
            word = f"./{word}"
        words.append(word)
    written = [quoted(word, context.shell) for word in words]
    line = [word for word in written if word is not None]
    if len(line) == len(written) and line:
        yield Suggestion(" ".join(line), _worded(template.reason, slots), template.confidence)


def _worded(reason: str, slots: dict[str, str]) -> str:
    def named(found: re.Match[str]) -> str:
        value = "".join(char for char in slots.get(found[1], "it") if char.isprintable())
        return value if len(value) <= _MAX_NAMED_CHARS else value[: _MAX_NAMED_CHARS - 1] + "…"

    return _SLOT.sub(named, reason)
