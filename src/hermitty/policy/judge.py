"""Judges a parsed line: goes through its commands as the shell would, in every way that it could take.

Every branch counts, whatever its condition. What `cd` and assignments earlier in the line do is followed; a part that
runs in a shell of its own (a substitution, a pipe, the background) changes nothing for what comes after it.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

from hermitty.policy import loops, streams
from hermitty.policy.arguments import Arg
from hermitty.policy.calls import MAX_NESTING, piped_foreign_code, too_deep
from hermitty.policy.context import Surroundings
from hermitty.policy.effects import Effect, Finding, Level
from hermitty.policy.findings import ask, unclear
from hermitty.policy.functions import define
from hermitty.policy.inside import Inside
from hermitty.policy.numeric import is_number
from hermitty.policy.parser import parse
from hermitty.policy.programs.variables import dangerous_variable
from hermitty.policy.record import Record, uses_network
from hermitty.policy.second_opinion import disagreement
from hermitty.policy.simple import inside_redirects, judge_simple
from hermitty.policy.syntax.commands import (
    AndOr,
    ArithmeticCommand,
    ArithmeticFor,
    Body,
    Case,
    Command,
    Conditional,
    Coproc,
    For,
    Function,
    Group,
    If,
    Pipeline,
    Redirect,
    Repeat,
    Simple,
    Statement,
    Subshell,
    Value,
    While,
)
from hermitty.policy.syntax.script import Script
from hermitty.policy.syntax.words import Word
from hermitty.policy.unfold import all_arguments, printed
from hermitty.policy.world import UNKNOWN_HOME, Outcome, World, Worlds, bounded, merged, same

# In these, substitutions and parts of a pipe run in the shell itself.
_IN_PROCESS = frozenset(("fish", "pwsh"))


class Walker:
    """Goes through one script. `place` is where its text stands in the line, if it is not the line itself."""

    def __init__(
        self,
        record: Record,
        around: Surroundings,
        *,
        place: tuple[int, int] | None = None,
        is_apart: bool = False,
        nesting: int = 0,
    ) -> None:
        self.record = record
        self.around = around
        self.shell = around.shell
        self.active: set[str] = set()  # functions that are being followed
        self.is_apart = is_apart  # in a shell that ends before the line does
        self._place = place
        self._nesting = nesting
        self._depth = 0  # blocks around
        self.typed: str | None = None

    @property
    def beginning(self) -> World:
        """Return the world before the line."""
        return World(self.around.cwd, self.around.home or UNKNOWN_HOME)

    @property
    def is_nested(self) -> bool:
        """Tell whether the command stands in a block, or in a function."""
        return self._depth > 0 or bool(self.active)

    def here(self, world: World) -> Surroundings:
        """Return where a command runs in a world."""
        return Surroundings(world.cwd, self.around.workspace, world.home, self.shell, self.around.secrets)

    def body(self, body: Body, worlds: Worlds) -> Outcome:
        """Judge commands one after the other."""
        outcome = same(worlds)
        for statement in body:
            outcome = self._statement(statement, outcome.both)
        return outcome

    def command(self, command: Command, worlds: Worlds) -> Outcome:
        """Judge one command in every world."""
        self.record.step()
        match command:
            case Simple():
                return self._in_each(command, worlds)
            case Pipeline():
                return self._pipeline(command, worlds)
            case AndOr():
                return self._and_or(command, worlds)
            case Value(word=word):
                return same(self.inside(worlds, (word,), command))
            case Function():
                return define(self, command, worlds)
            case Coproc(name=name):
                if name is not None and (reason := dangerous_variable(name, None, self.shell)):
                    self.add([ask(reason, Level.HIGH, Effect.SESSION)], command)
                worlds = tuple(world.with_arrays((name or "COPROC",)) for world in worlds)
                return self._apart(Statement(command.command, True, command.start, command.end), worlds)
            case Subshell(body=body, redirects=redirects):
                with self._setting(is_apart=True, typed=self.typed), self._reading(redirects, worlds, command):
                    self.body(body, worlds)
                return same(worlds)
        with self._reading(command.redirects, worlds, command):
            self._depth += 1
            outcome = self._compound(command, worlds)
            self._depth -= 1
            return outcome

    def nested(self, text: Arg, shell: str, world: World, *, is_own: bool) -> tuple[list[Finding], Outcome]:
        """Judge a text that a shell runs. `is_own`: this shell, as for `eval`."""
        line = text.text or ""
        if self._nesting >= MAX_NESTING or not self.record.has_room(len(line)):
            return too_deep(text), same((world,))
        around = replace(self.around, shell=shell)
        place = (text.start, text.end)
        walker = Walker(
            self.record,
            around,
            place=self._place or place,
            is_apart=self.is_apart or not is_own,
            nesting=self._nesting + 1,
        )
        walker.active = self.active if is_own else set()
        script = parse(line, shell)
        before = len(self.record.found)
        outcome = walker.body(script.body, (world,))
        found = [replace(one, start=text.start, end=text.end) for one in self.record.found[before:]]
        del self.record.found[before:]
        return found + [unclear(reason, at=text) for reason in not_understood(line, script)], outcome

    # --- parts of a line

    def _statement(self, statement: Statement, worlds: Worlds) -> Outcome:
        if statement.is_background:
            return self._apart(statement, worlds)
        return self.command(statement.command, worlds)

    def _apart(self, statement: Statement, worlds: Worlds) -> Outcome:
        if self.shell == "fish":
            # It runs blocks and functions in the shell itself, whatever stands behind them.
            return same(_union(worlds, self.command(statement.command, worlds).both))
        with self._setting(is_apart=True, typed=None):
            self.command(statement.command, worlds)
        return same(worlds)

    def _and_or(self, command: AndOr, worlds: Worlds) -> Outcome:
        outcome = self.command(command.commands[0], worlds)
        for operator, one in zip(command.operators, command.commands[1:], strict=True):
            if operator == "&&":
                then = self.command(one, outcome.success)
                outcome = Outcome(then.success, _union(outcome.failure, then.failure))
            else:
                then = self.command(one, outcome.failure)
                outcome = Outcome(_union(outcome.success, then.success), then.failure)
        return outcome

    def _pipeline(self, command: Pipeline, worlds: Worlds) -> Outcome:
        commands = command.commands
        if len(commands) < 2:
            outcome = self.command(commands[0], worlds) if commands else same(worlds)
            return Outcome(outcome.failure, outcome.success) if command.is_negated else outcome
        begin = len(self.record.found)
        typed = self.typed
        result = worlds
        for index, one in enumerate(commands):
            is_last = index == len(commands) - 1
            is_own = self.shell in _IN_PROCESS or (is_last and self.shell != "bash")
            at = len(self.record.found)
            with self._setting(is_apart=self.is_apart or not is_own, typed=typed):
                outcome = self.command(one, worlds)
            stage = self.record.found[at:]
            if uses_network(self.record.found[begin:at]):
                self.record.download(stage)
            if foreign := piped_foreign_code(self.record.found[begin:at], stage):
                self.add(foreign, one)
            if is_own:
                result = _union(result, outcome.both)
            typed = self._passed_on(one, worlds, typed)
        return same(result)

    def _passed_on(self, command: Command, worlds: Worlds, typed: str | None) -> str | None:
        """Return what a part of a pipe hands to the next one, if that is known."""
        if not isinstance(command, Simple) or command.assignments or len(worlds) != 1:
            return None
        args = all_arguments(command.words, worlds[0], self.shell)
        if [arg.text for arg in args] == ["cat"] or (args and args[0].text == "tee"):
            is_elsewhere = streams.reads_elsewhere(command.redirects)
            return streams.typed_text(command.redirects, worlds[0], self.shell) if is_elsewhere else typed
        return printed(args, worlds[0])

    def _compound(
        self,
        command: Group | If | While | For | ArithmeticFor | Repeat | Case | Conditional | ArithmeticCommand,
        worlds: Worlds,
    ) -> Outcome:
        match command:
            case Group(body=body):
                return self.body(body, worlds)
            case If(branches=branches, otherwise=otherwise):
                results: Worlds = ()
                for branch in branches:
                    outcome = self.body(branch.condition, worlds)
                    results = (*results, *self.body(branch.body, outcome.success).both)
                    worlds = outcome.failure
                return same(bounded((*results, *self.body(otherwise, worlds).both)))
            case While():
                return same(loops.repeated(worlds, lambda now: self._while(command, now)))
            case For():
                return same(self._for(command, worlds))
            case ArithmeticFor(body=body):
                worlds = self._calculated(worlds, command)
                return same(loops.repeated(worlds, lambda now: self.body(body, now).both))
            case Repeat(count=count, body=body):
                worlds = self.inside(worlds, (count,), command)
                if not all(is_number(count, world) for world in worlds):
                    self.add([unclear(f"{count.source} is calculated, which may run what is in it")], command)
                return same(loops.repeated(worlds, lambda now: self.body(body, now).both))
            case Case(word=word, arms=arms):
                words = (word, *(pattern for arm in arms for pattern in arm.patterns))
                worlds = self.inside(worlds, words, command)
                after = [world for arm in arms for world in self.body(arm.body, worlds).both]
                falls = any(arm.terminator not in ("", ";;") for arm in arms)
                if falls:
                    after += [world for arm in arms for world in self.body(arm.body, bounded(after)).both]
                return same(bounded((*worlds, *after)))
            case Conditional() | ArithmeticCommand():
                return same(self._calculated(worlds, command))

    def _while(self, command: While, worlds: Worlds) -> Worlds:
        outcome = self.body(command.condition, worlds)
        ended, went_on = outcome.failure, outcome.success
        if command.is_until:
            ended, went_on = went_on, ended
        return _union(ended, self.body(command.body, went_on).both)

    def _for(self, command: For, worlds: Worlds) -> Worlds:
        worlds = self.inside(worlds, command.words or (), command)
        name = command.names[0]
        if reason := dangerous_variable(name, None, self.shell):
            self.add([ask(reason, Level.HIGH, Effect.SESSION)], command)
        results = worlds
        for world in worlds:
            values = loops.values(command, world, self.shell)
            now: Worlds = (world,)
            for value in values:
                now = self._rounds(command.body, name, value, now)
                results = _union(results, now)
        # In fish, the variable of a loop may be another one than that outside.
        return bounded(world.without((name,)) for world in results) if self.shell == "fish" else results

    def _rounds(self, body: Body, name: str, value: loops.LoopValue, worlds: Worlds) -> Worlds:
        """Judge one round of a loop for a known value, or any number of them for an unknown one."""

        def run(now: Worlds) -> Worlds:
            return self.body(body, tuple(value.put(name, world) for world in now)).both

        return run(worlds) if value.text is not None else loops.repeated(worlds, run)

    def _in_each(self, command: Simple, worlds: Worlds) -> Outcome:
        if len(worlds) == 1:
            return judge_simple(self, command, worlds[0])
        outcomes = [judge_simple(self, command, world) for world in worlds]
        return Outcome(
            bounded(world for one in outcomes for world in one.success),
            bounded(world for one in outcomes for world in one.failure),
        )

    # --- what all of them need

    def substituted(self, script: Script, world: World) -> World:
        """Judge the script of a substitution; return the world after it."""
        is_own = self.shell in _IN_PROCESS
        with self._setting(is_apart=self.is_apart or not is_own, typed=self.typed):
            outcome = self.body(script.body, (world,))
        return merged([world, *outcome.both]) if is_own else world

    @property
    def is_visible(self) -> bool:
        """Tell whether the script stands in the line itself, not in a text of it."""
        return self._place is None

    def add(self, around: Sequence[Finding], node: Command, *, done: Sequence[Finding] = ()) -> None:
        """Record what was found about a command: `around` it, and `done` by its program."""
        start, end = self._place or (node.start, node.end)
        self.record.add(around, start, end, is_visible=self.is_visible, done=done)

    def inside(self, worlds: Worlds, words: Sequence[Word], node: Command) -> Worlds:
        """Judge what is in words that are no arguments."""
        results: list[World] = []
        for world in worlds:
            inside = Inside(world, self.shell, self.substituted)
            inside.words(words)
            if inside.found:
                self.add(inside.found, node)
            results.append(inside.world)
        return bounded(results)

    def _calculated(self, worlds: Worlds, command: Conditional | ArithmeticCommand | ArithmeticFor) -> Worlds:
        results: list[World] = []
        for world in worlds:
            inside = Inside(world, self.shell, self.substituted)
            if isinstance(command, Conditional):
                for test in command.tests:
                    inside.test(test)
            else:
                inside.parts((command.expression,))
            if inside.found or isinstance(command, Conditional):
                self.add(inside.found, command)
            results.append(inside.world)
        return bounded(results)

    @contextmanager
    def _reading(self, redirects: Sequence[Redirect], worlds: Worlds, node: Command) -> Iterator[None]:
        """Judge the redirections of a compound command, and let its commands know what they read."""
        typed = self.typed
        self.record.count_redirects(len(redirects))
        for world in worlds:
            inside = Inside(world, self.shell, self.substituted)
            inside_redirects(inside, redirects)
            found = [one for redirect in redirects for one in streams.judged(redirect, world, self.here(world))]
            if redirects:
                self.add(inside.found + found, node)
                typed = streams.typed_text(redirects, world, self.shell) if len(worlds) == 1 else None
        if redirects and not streams.reads_elsewhere(redirects):
            typed = self.typed
        with self._setting(is_apart=self.is_apart, typed=typed):
            yield

    @contextmanager
    def _setting(self, *, is_apart: bool, typed: str | None) -> Iterator[None]:
        before = self.is_apart, self.typed
        self.is_apart, self.typed = is_apart, typed
        try:
            yield
        finally:
            self.is_apart, self.typed = before


def not_understood(line: str, script: Script) -> list[str]:
    """Return the reasons why a line cannot be trusted to mean what was read."""
    reasons = [problem.reason for problem in script.problems]
    other = disagreement(line, script)
    return reasons if other is None else [*reasons, other]


def _union(one: Worlds, other: Worlds) -> Worlds:
    return one if one is other else bounded((*one, *other))
