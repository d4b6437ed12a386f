"""One command with its arguments: a function of the line, or a program with all that it runs in turn."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from hermitty.policy import places
from hermitty.policy.arguments import Arg
from hermitty.policy.assigning import lists_in_quotes
from hermitty.policy.context import Surroundings
from hermitty.policy.effects import Effect, Finding, Level, Verdict
from hermitty.policy.findings import RUNS_INPUT, ask, note, unclear
from hermitty.policy.programs import judge_program
from hermitty.policy.record import uses_network
from hermitty.policy.session_state import after, called_with, like_before
from hermitty.policy.world import Outcome, World, bounded, same

if TYPE_CHECKING:
    from hermitty.policy.judge import Walker

MAX_NESTING = 8  # of scripts in scripts, and of commands that run commands
UNKNOWN_CODE = "runs code that is only known when it runs"
UNKNOWN_COMMAND = "which command it is, is only known when it runs"
# How reasons end for what runs code that is nowhere in the line.
_UNKNOWN = (RUNS_INPUT, UNKNOWN_CODE, UNKNOWN_COMMAND, "runs its input in this shell")
_FROM_NETWORK = "runs code that comes from the network"
# Commands that run what stands behind them in the same shell.
_SAME_SHELL = frozenset(("command", "builtin", "eval", "noglob", "nocorrect", "-"))
_SHELLS = frozenset(("sh", "bash", "dash", "ash", "zsh", "ksh", "mksh", "yash", "rbash", "fish"))
_RUNNERS = _SHELLS | {"source", ".", "eval", "python", "python3", "perl", "ruby", "node", "php", "pwsh", "deno", "bun"}
# A function of such a name is not always the one that is called.
_SPECIAL = frozenset(("break", ":", ".", "continue", "eval", "exec", "exit", "export", "readonly", "return", "set"))
_SPECIAL |= {"shift", "source", "times", "trap", "unset"}
# What `set` may be given without a question in a shell that ends with the line.
_HARMLESS_SET = frozenset(("-e", "-u", "-x", "-eu", "-ex", "-ux", "-eux", "-euo", "-euxo", "-exo", "-o", "pipefail"))
_HARMLESS_SET |= {"errexit", "nounset", "xtrace", "+e", "+x", "+u", "-f", "+f", "noglob", "-v"}


class Call:
    """The judge that programs see while one command is judged. `typed` is what it reads, if that is known."""

    def __init__(self, walker: "Walker", world: World, typed: str | None) -> None:
        self.walker = walker
        self.world = world
        self.typed = typed
        self.outcome: Outcome = same((world,))
        self._name = ""
        self._depth = 0  # commands around that run this one

    @property
    def here(self) -> Surroundings:
        """Return where the command runs."""
        return self.walker.here(self.world)

    def command(self, args: Sequence[Arg]) -> list[Finding]:
        """Judge a program that another one runs."""
        if self._depth >= MAX_NESTING:
            return [unclear("commands that run commands are nested too deeply")]
        self._depth += 1
        found = self.perform(args, is_inner=True)
        if self.typed is not None and args and args[-1].shown == "what xargs reads":
            words = [Arg.literal(word) for word in self.typed.split()]
            found += self.perform([*args[:-1], *words], is_inner=True)
        self._depth -= 1
        return found

    def script(self, text: Arg, shell: str) -> list[Finding]:
        """Judge a text that a shell runs: this one if it is for `eval`, else another."""
        if text.text is None:
            return [ask(UNKNOWN_CODE, Level.HIGH, Effect.EXEC, at=text)]
        is_own = self._name == "eval"
        world = self.world if is_own else World(self.world.cwd, self.world.home, is_new=True)
        found, outcome = self.walker.nested(text, shell, world, is_own=is_own)
        if is_own:
            self.outcome = outcome
        return found

    def perform(self, args: Sequence[Arg], *, is_inner: bool = False) -> list[Finding]:
        """Judge a command; `outcome` tells the worlds after it."""
        record = self.walker.record
        record.step(len(args))
        if not args:
            return []
        number = record.begin(args, self.here, is_visible=self.walker.is_visible)
        found = self._performed(args, is_inner=is_inner)
        if self.walker.is_apart:
            found = [self._lowered(one, args) for one in found]
        record.end(number, found)
        return found

    def _performed(self, args: Sequence[Arg], *, is_inner: bool) -> list[Finding]:
        name = args[0].text
        if name is None:
            return [ask(UNKNOWN_COMMAND, Level.HIGH, Effect.EXEC, at=args[0])]
        found: list[Finding] = []
        followed: Outcome | None = None
        if name in self.world.functions:
            followed = self.outcome = self._follow(name, args[1:])
            if name not in self.world.unsure and name not in _SPECIAL and not is_inner:
                return found
        outer, self._name = self._name, name
        found += judge_program(name, args[1:], self)
        found += lists_in_quotes(name, args[1:], self.world, self.here.shell)
        self._name = outer
        if name not in _SAME_SHELL:
            self.outcome = after(
                name, args[1:], self.world, self.here, typed=self.typed, is_nested=self.walker.is_nested
            )
        if followed is not None:
            self.outcome = _joined(followed, self.outcome)
        found += self._input_run(found)
        return found + self._downloads(args, found)

    def _follow(self, name: str, args: Sequence[Arg]) -> Outcome:
        """Judge the body of a function of the line, with these arguments."""
        walker = self.walker
        if name in walker.active:
            return same((self.world,))
        inner = called_with(self.world, args)
        walker.active.add(name)
        outcomes = [walker.command(function.body, (inner,)) for function in self.world.functions[name]]
        walker.active.discard(name)
        return Outcome(
            bounded(like_before(world, self.world) for one in outcomes for world in one.success),
            bounded(like_before(world, self.world) for one in outcomes for world in one.failure),
        )

    def _input_run(self, found: Sequence[Finding]) -> list[Finding]:
        """Judge known text that a shell reads as commands. It is asked about in any case: others may read a part."""
        if self.typed is None:
            return []
        for one in found:
            shell = one.reason.partition(" ")[0]
            if one.reason.endswith(RUNS_INPUT) and shell in _SHELLS:
                text = Arg.literal(self.typed, start=one.start, end=one.end)
                world = World(self.world.cwd, self.world.home, is_new=True)
                return self.walker.nested(text, shell, world, is_own=False)[0]
        return []

    def _downloads(self, args: Sequence[Arg], found: Sequence[Finding]) -> list[Finding]:
        """Notice files that come from the network, and tell when one of them is run."""
        downloaded = self.walker.record.downloaded
        if uses_network(found):
            self.walker.record.download(found)
            for arg in args[1:]:
                if arg.text is not None and "://" in arg.text:
                    downloaded.add(places.resolve(arg.text.rpartition("/")[2] or ".", self.here))
            return []
        if not downloaded:
            return []
        name = args[0].text or ""
        runs = [args[0]] if "/" in name else args[1:] if name in _RUNNERS else []
        if any(places.known_path(arg, self.here) in downloaded for arg in runs):
            return [ask(_FROM_NETWORK, Level.CRITICAL, Effect.EXEC)]
        return []

    @staticmethod
    def _lowered(finding: Finding, args: Sequence[Arg]) -> Finding:
        """Allow small changes of a shell that ends with this part of the line."""
        is_small = finding.effect is Effect.SESSION and finding.level is Level.LOW
        if not is_small or finding.verdict is not Verdict.ASK:
            return finding
        if args[0].text == "set" and any(arg.text not in _HARMLESS_SET for arg in args[1:]):
            return replace(finding, level=Level.MEDIUM)
        return replace(note(finding.reason, Effect.SESSION), start=finding.start, end=finding.end)


def runs_foreign_code(args: Sequence[Arg], own: Sequence[Finding], inside: Sequence[Finding]) -> list[Finding]:
    """Tell whether a command runs what a substitution in it gets from the network."""
    if not uses_network(inside):
        return []
    name = (args[0].text or "").rpartition("/")[2] if args else ""
    is_run = name in _RUNNERS or any(one.reason.endswith(_UNKNOWN) for one in own)
    return [ask(_FROM_NETWORK, Level.CRITICAL, Effect.EXEC)] if is_run else []


def piped_foreign_code(before: Sequence[Finding], stage: Sequence[Finding]) -> list[Finding]:
    """Tell whether a part of a pipe runs what an earlier one gets from the network."""
    is_run = any(one.reason.endswith(_UNKNOWN) for one in stage)
    return [ask(_FROM_NETWORK, Level.CRITICAL, Effect.EXEC)] if is_run and uses_network(before) else []


def too_deep(text: Arg) -> list[Finding]:
    """Tell that a script is inside of too many others."""
    return [unclear("scripts are nested too deeply", at=text)]


def _joined(one: Outcome, other: Outcome) -> Outcome:
    return Outcome(bounded((*one.success, *other.success)), bounded((*one.failure, *other.failure)))
