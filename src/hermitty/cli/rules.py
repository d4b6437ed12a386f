"""`hermitty rules`: what is always allowed, asked about or denied."""

import argparse
import dataclasses
import os
import re
import sys
import time
from pathlib import Path

from hermitty.cli.escapes import tell, visible
from hermitty.errors import InvalidRule
from hermitty.runtime.places import find_places
from hermitty.runtime.rules import Rule, RuleStore, Scope, problems_of_file, rule_of, table_of
from hermitty.wire.records import to_json

_DURATION = re.compile(r"(\d{1,9})([smhd])")
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86_400}


def manage_rules(options: argparse.Namespace) -> int:
    """Do what `hermitty rules` was asked and return the exit code."""
    workspace = os.path.abspath(options.workspace or os.curdir)
    if options.rules_command == "check":
        return _check(workspace, options.files)
    store = RuleStore.at(find_places(), tell=tell)
    match options.rules_command:
        case "list":
            return _list(store.listed(workspace=workspace), as_json=options.json)
        case "add":
            rule, expires_in_s = _rule(options)
            kept = store.add(rule, Scope(options.scope), workspace=workspace, expires_in_s=expires_in_s)
            print(visible(f"{kept.id}: {kept}"))
        case "remove":
            print(f"removed: {visible(str(store.remove(options.id, workspace=workspace)))}")
    return 0


def _list(rules: list[Rule], *, as_json: bool) -> int:
    if as_json:
        for rule in rules:
            print(to_json({**table_of(rule), "layer": rule.layer.label, "origin": rule.origin}))
    elif rules:
        _print(rules)
    else:
        print("hermitty: there are no rules here", file=sys.stderr)
    return 0


def _print(rules: list[Rule]) -> None:
    headings = ("id", "decision", "command", "limits", "from")
    rows = [headings, *((each.id, each.decision.value, each.pattern, _limits(each), each.origin) for each in rules)]
    shown = [tuple(map(visible, row)) for row in rows]
    widths = [min(max(len(row[column]) for row in shown), 48) for column in range(len(headings) - 1)]
    for row in shown:
        print("  ".join((*(text.ljust(size) for text, size in zip(row, widths, strict=False)), row[-1])).rstrip())


def _limits(rule: Rule) -> str:
    """Say what else a rule wants, in a few words."""
    limits = ["exact"] if rule.exact else []
    if rule.flags is not None:
        limits.append(f"flags {' '.join(rule.flags) or 'none'}")
    limits += [rule.paths] if rule.paths != "anything" else []
    limits += ["writes"] if rule.writes else []
    limits += [f"in {rule.cwd}"] if rule.cwd else []
    limits += ["/".join(rule.shells)] if rule.shells else []
    limits += [f"up to {rule.level.label}"] if rule.level is not None else []
    if rule.expires_at is not None:
        limits.append(time.strftime("until %Y-%m-%d %H:%M", time.localtime(rule.expires_at)))
    return ", ".join(limits) or "-"


def _rule(options: argparse.Namespace) -> tuple[Rule, float | None]:
    words: list[str] = options.words
    table: dict[str, object] = {"decision": options.decision, "command": words[0] if len(words) == 1 else words}
    for name in ("paths", "cwd", "level", "reason", "shells", "examples", "counter_examples", "flags"):
        if getattr(options, name) is not None:
            table[name] = getattr(options, name)
    for name in ("exact", "writes"):
        if getattr(options, name):
            table[name] = True
    if options.no_flags:
        table["flags"] = []
    for name in ("cwd", "paths"):
        if isinstance(where := table.get(name), str) and where not in ("anything", "workspace"):
            table[name] = os.path.abspath(where)
    expires_in_s = None
    if options.expires is not None:
        found = _DURATION.fullmatch(options.expires)
        if found:
            expires_in_s = float(found[1]) * _SECONDS[found[2]]
        else:
            table["expires"] = options.expires
    rule = rule_of(table)
    if rule.expires_at is not None and rule.expires_at <= time.time():
        raise InvalidRule("the rule would have expired already")
    # A new rule gets a new id, also when there was one that said the same.
    return dataclasses.replace(rule, id="", origin="command line"), expires_in_s


def _check(workspace: str, files: list[str]) -> int:
    if files:
        problems = [problem for file in files for problem in problems_of_file(Path(os.path.abspath(file)))]
    else:
        problems = RuleStore.at(find_places(), tell=lambda text: None).problems(workspace=workspace)
    for problem in problems:
        print(visible(problem))
    if not problems:
        print("hermitty: all rules are in use", file=sys.stderr)
    return 1 if problems else 0
