"""Where rules are kept, and which of them count.

| layer | where | may |
|---|---|---|
| user | `rules.toml` beside the user's settings | everything |
| workspace | a file of the state directory, one for each root | everything |
| repository | `[[rule]]` in `.hermitty.toml` of the root | deny and ask: it may be somebody else's |
| session | memory | everything |

Files are read again when they change. What is wrong in one is told once, with its line, and disables that rule only.
"""

import hashlib
import logging
import os
import secrets
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path

from hermitty.errors import InvalidRequest, InvalidRule, InvalidSettings, RuleNotFound
from hermitty.paths import canonical
from hermitty.policy.rule import Action, Layer, Rule, Scope
from hermitty.policy.rule_examples import example_problem
from hermitty.policy.rule_file import (
    Placed,
    RuleFile,
    RuleProblem,
    parse_rules,
    rule_of,
    rule_text,
    table_of,
    without,
)
from hermitty.policy.rules import RuleSet
from hermitty.runtime.places import WORKSPACE_FILE, Places
from hermitty.runtime.rule_storage import Stamp, change_file, is_young, stamp_of, text_of

__all__ = ["Action", "Rule", "RuleStore", "Scope", "problems_of_file", "rule_of", "table_of", "user_rules_file"]

_MAX_SESSION_RULES = 500
_MAX_SESSIONS = 1000


class RuleStore:
    """The rules of one user. Reading never fails: what cannot be read is told, and counts as empty."""

    def __init__(
        self,
        *,
        user_file: Path | None,
        workspaces: Path,
        tell: Callable[[str], None] | None = None,
        clock: Callable[[], float] = time.time,
        built_in: Iterable[Rule] = (),
    ) -> None:
        self._user_file = user_file
        self._workspaces = workspaces
        self._tell = tell or logging.getLogger("hermitty.rules").warning
        self._clock = clock
        self._built_in = tuple(replace(rule, layer=Layer.BUILT_IN) for rule in built_in)
        self._sessions: dict[str, list[Rule]] = {}
        self._files: dict[tuple[Path, Layer], _Watched] = {}
        self._places: dict[str | None, list[_Watched]] = {}
        self._sets: dict[tuple[str | None, str | None], tuple[tuple[object, ...], RuleSet]] = {}

    @classmethod
    def at(cls, places: Places, tell: Callable[[str], None] | None = None) -> "RuleStore":
        """Make the store of this user."""
        return cls(user_file=user_rules_file(places), workspaces=places.rules, tell=tell)

    def rules(self, *, session: str | None = None, workspace: str | None = None) -> RuleSet:
        """Return the rules that count for a session in a workspace, which is named by its root."""
        files = self._watched(workspace)
        own = self._sessions.get(session, []) if session is not None else []
        key = (session, workspace)
        state = (*(id(file.current()) for file in files), tuple(own))
        known = self._sets.get(key)
        if known is None or known[0] != state:
            if len(self._sets) >= _MAX_SESSIONS:
                self._sets.clear()
            listed = (rule for file in files for rule in file.current().rules)
            known = self._sets[key] = (state, RuleSet((*self._built_in, *listed, *own)))
        return known[1]

    def listed(self, *, session: str | None = None, workspace: str | None = None) -> list[Rule]:
        """Return the rules that count, those that have expired left out."""
        now = self._clock()
        return [rule for rule in self.rules(session=session, workspace=workspace).rules if rule.is_live(now)]

    def problems(self, *, workspace: str | None = None) -> list[str]:
        """Return what is wrong with the files, each with its file and line."""
        files = self._watched(workspace)
        for file in files:
            file.current()
        return [text for file in files for text in file.problems]

    def add(
        self,
        rule: Rule,
        scope: Scope,
        *,
        session: str | None = None,
        workspace: str | None = None,
        expires_in_s: float | None = None,
    ) -> Rule:
        """Keep a rule, checked with its examples, and return it as it is kept."""
        expires_at = rule.expires_at if expires_in_s is None else self._clock() + expires_in_s
        rule = replace(rule, id=rule.id or f"r_{secrets.token_hex(5)}", expires_at=expires_at)
        match scope:
            case Scope.ONCE:
                raise InvalidRule("a rule that counts once is none: answer the question instead")
            case Scope.SESSION:
                if session is None:
                    raise InvalidRule("a rule for a session needs the session")
                return self._add_to_session(_checked(replace(rule, layer=Layer.SESSION)), session)
            case Scope.WORKSPACE:
                if workspace is None:
                    raise InvalidRule("a rule for a workspace needs the workspace's root")
                file, layer = self._workspace_file(workspace), Layer.WORKSPACE
                header = f"workspace = {_quoted(canonical(workspace))}\n"
            case Scope.USER:
                file, layer, header = self._file_of_user(), Layer.USER, ""
        return self._append(file, _checked(replace(rule, layer=layer)), header)

    def remove(self, rule_id: str, *, session: str | None = None, workspace: str | None = None) -> Rule:
        """Forget a rule and return it. Rules of a repository and built-in ones stay."""
        for own in [self._sessions.get(session, [])] if session is not None else self._sessions.values():
            for rule in own:
                if rule.id == rule_id:
                    own.remove(rule)
                    return rule
        for watched in self._watched(workspace):
            if not watched.is_foreign:
                for rule in watched.current().rules:
                    if rule.id == rule_id:
                        return self._take_out(watched.path, watched.layer, rule_id)
        known = [rule.id for rule in self.listed(session=session, workspace=workspace)]
        raise RuleNotFound(rule_id, known)

    def forget_session(self, session: str) -> None:
        """Forget the rules of a session that has ended."""
        self._sessions.pop(session, None)
        self._sets = {key: known for key, known in self._sets.items() if key[0] != session}

    def _add_to_session(self, rule: Rule, session: str) -> Rule:
        own = self._sessions.setdefault(session, [])
        if len(own) >= _MAX_SESSION_RULES or len(self._sessions) > _MAX_SESSIONS:
            raise InvalidRule(f"there are more than {_MAX_SESSION_RULES} rules for this session")
        rule = replace(rule, origin=rule.origin or f"session {session}")
        own.append(rule)
        return rule

    def _append(self, path: Path, rule: Rule, header: str) -> Rule:
        def change(text: str) -> str:
            if any(each.id == rule.id for each in parse_rules(text, name=str(path), layer=rule.layer).rules):
                raise InvalidRule(f"there is a rule {rule.id} already")
            start = text or header
            gap = "" if not start else "\n" if start.endswith("\n") else "\n\n"
            return f"{start}{gap}{rule_text(rule)}"

        change_file(path, change)
        for each in self._watch(path, rule.layer).current().rules:
            if each.id == rule.id:
                return each
        raise InvalidRule(f"{path}: the rule could not be read back")

    def _take_out(self, path: Path, layer: Layer, rule_id: str) -> Rule:
        taken: list[Placed] = []

        def change(text: str) -> str:
            for placed in parse_rules(text, name=str(path), layer=layer).placed:
                if placed.rule.id == rule_id:
                    taken.append(placed)
                    return without(text, placed)
            raise RuleNotFound(rule_id)

        change_file(path, change)
        return taken[0].rule

    def _watched(self, workspace: str | None) -> list["_Watched"]:
        if (known := self._places.get(workspace)) is not None:
            return known
        if len(self._places) >= _MAX_SESSIONS:
            self._places.clear()
        files = [self._watch(self._user_file, Layer.USER)] if self._user_file is not None else []
        if workspace is not None:
            files.append(self._watch(Path(workspace) / WORKSPACE_FILE, Layer.WORKSPACE, is_foreign=True))
            files.append(self._watch(self._workspace_file(workspace), Layer.WORKSPACE))
        self._places[workspace] = files
        return files

    def _watch(self, path: Path, layer: Layer, *, is_foreign: bool = False) -> "_Watched":
        watched = self._files.get((path, layer))
        if watched is None:
            watched = self._files[path, layer] = _Watched(path, layer, is_foreign, self._tell)
        return watched

    def _workspace_file(self, workspace: str) -> Path:
        digest = hashlib.sha256(canonical(workspace).encode("utf-8", "surrogateescape")).hexdigest()[:16]
        return self._workspaces / f"{digest}.toml"

    def _file_of_user(self) -> Path:
        if self._user_file is None:
            raise InvalidRequest("there is no place for rules of yours: HERMITTY_CONFIG names no file")
        return self._user_file


def user_rules_file(places: Places) -> Path | None:
    """Return where the user's rules are, there or not; None when the user has no files."""
    config = places.config_file
    return None if str(config) == os.devnull else config.with_name("rules.toml")


def problems_of_file(path: Path) -> list[str]:
    """Return what is wrong with a file of rules, each with its line."""
    watched = _Watched(path, Layer.USER, is_foreign=False, tell=lambda text: None)
    if stamp_of(path, follow_links=True) is None:
        return [f"{path}: is not there"]
    watched.current()
    return watched.problems


@dataclass(slots=True)
class _Watched:
    """A file of rules, and what was in it when it was last read."""

    path: Path
    layer: Layer
    is_foreign: bool  # of a repository: it may only make things stricter
    tell: Callable[[str], None]
    problems: list[str] = field(default_factory=list)
    _file: RuleFile = field(default_factory=RuleFile)
    _stamp: Stamp = None
    _text: str = ""

    def current(self) -> RuleFile:
        """Return the rules as they are now: the same object as long as nothing has changed."""
        stamp = stamp_of(self.path, follow_links=not self.is_foreign)
        if stamp != self._stamp or is_young(stamp):
            # The stamp is taken first: a change during the reading is seen the next time.
            self._stamp = stamp
            self._read()
        return self._file

    def _read(self) -> None:
        try:
            text = text_of(self.path, follow_links=not self.is_foreign)
        except InvalidSettings as error:
            # A broken file must not take away what it denied.
            self._tell_new([f"{error}; the rules from before stay in use"])
            return
        if text == self._text:
            return
        self._text = text
        file = parse_rules(text, name=str(self.path), layer=self.layer)
        if self.is_foreign:
            file = _only_stricter(file)
        self._file = _with_good_examples(file)
        found = sorted(self._file.problems, key=lambda one: one.line)
        self._tell_new([f"{self.path}:{each.line}: {each.text}" for each in found])

    def _tell_new(self, problems: list[str]) -> None:
        told, self.problems = self.problems, problems
        for text in problems:
            if text not in told:
                self.tell(text)


def _only_stricter(file: RuleFile) -> RuleFile:
    """Leave out what a repository has no say in. Its settings, in the same file, are read by others."""
    kept = RuleFile(problems=[each for each in file.problems if "in a file of rules" not in each.text])
    for placed in file.placed:
        if placed.rule.decision is Action.ALLOW:
            text = "a repository cannot allow anything; put the rule into your own file"
            kept.problems.append(RuleProblem(placed.line, text))
        else:
            kept.placed.append(placed)
    return kept


def _with_good_examples(file: RuleFile) -> RuleFile:
    kept = RuleFile(problems=list(file.problems))
    for placed in file.placed:
        if problem := example_problem(placed.rule):
            kept.problems.append(RuleProblem(placed.line, f"{problem}; the rule is not in use"))
        else:
            kept.placed.append(placed)
    return kept


def _checked(rule: Rule) -> Rule:
    rule = Rule.checked(rule)
    if problem := example_problem(rule):
        raise InvalidRule(problem)
    return rule


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
