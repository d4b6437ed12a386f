"""The narrowest rule that would make a line run without a question, where there is one worth keeping.

None for what can run anything: shells, interpreters, wrappers, package runners, rm; for more than one command to ask
about; for redirections, substitutions and words that are only known when it runs; for what is critical or blocked.
"""

import shlex
from dataclasses import replace
from typing import Final

from hermitty.errors import InvalidRule
from hermitty.policy.arguments import Arg
from hermitty.policy.effects import Effect, Level, Verdict
from hermitty.policy.judged import Judged, JudgedLine
from hermitty.policy.places import is_within
from hermitty.policy.rule import ANYTHING, MAX_WORDS, WORKSPACE, Action, Rule
from hermitty.policy.rules import RuleSet, Says


def _names(table: str) -> frozenset[str]:
    return frozenset(table.split())


# A rule about one of these would be a rule about everything.
_RUN_ANYTHING: Final = _names("""
    sh bash dash ash zsh ksh mksh yash rbash fish csh tcsh pwsh powershell cmd busybox toybox python python2
    python3 pypy pypy3 ipython node nodejs deno bun ruby irb perl php lua luajit tclsh wish expect Rscript julia
    osascript java groovy scala gdb lldb sqlite3 psql mysql env sudo doas su runuser pkexec nohup nice ionice
    timeout time stdbuf setsid setarch unshare nsenter chroot xargs parallel watch entr flock strace ltrace
    script tmux screen eval exec source . command builtin noglob trap alias coproc find fd awk gawk mawk nawk
    sed ed ex vi vim nvim emacs less more man ssh scp sftp rsync socat nc ncat telnet npx pnpx bunx uvx pipx
    corepack nix-shell nix rm rmdir unlink shred dd mkfs wipefs kill pkill killall chmod chown chgrp systemctl
    service crontab at batch curl wget docker-compose export set unset declare typeset local readonly enable
    hash shopt setopt hermitty
    """)
# Programs whose first word is a command of their own, with those of them that run anything.
_SUB_COMMANDS: Final = {
    program: frozenset(never.split())
    for program, never in {
        "git": "config clean filter-branch submodule bisect rebase difftool mergetool",
        "gh": "api alias extension codespace secret auth",
        "npm": "exec x explore config create init link publish",
        "pnpm": "exec dlx create config publish",
        "yarn": "exec dlx create config publish node",
        "cargo": "install publish login owner yank",
        "go": "generate tool env",
        "docker": "run exec compose cp plugin swarm context login",
        "podman": "run exec cp login",
        "kubectl": "exec run cp debug attach edit port-forward proxy config",
        "pip": "install download wheel config",
        "pip3": "install download wheel config",
        "uv": "run tool pip publish",
        "poetry": "run shell publish config",
        "bundle": "exec config",
        "rails": "runner console dbconsole",
        "dotnet": "exec tool script",
        "make": "",
        "just": "",
        "terraform": "apply destroy import state console",
        "helm": "install upgrade uninstall plugin",
        "apt": "",
        "apt-get": "",
        "brew": "",
    }.items()
}
# Sub-commands that get, send or remove what their words name.
_REMOTE: Final = _names("""
    push pull fetch clone install i ci add remove uninstall rm publish deploy apply update upgrade get mod login
    """)
# Programs that do their usual work without a sub-command.
_TARGETS: Final = frozenset({"make", "just"})
# Sub-commands of which the next word says what runs.
_NAMED_SCRIPTS: Final = {("npm", "run"), ("npm", "run-script"), ("pnpm", "run"), ("yarn", "run"), ("bun", "run")}
# Programs that work on the project they are in, whatever files they are given.
_PROJECT_TOOLS: Final = _names("""
    pytest py.test tox nox mypy pyright ruff black isort flake8 pylint tsc eslint prettier jest vitest mocha
    rspec rubocop gofmt goimports golangci-lint rustfmt clang-format clang-tidy cmake ctest ninja mkdir touch cp
    mv ln tee gradle gradlew mvn phpunit stylelint biome shellcheck shfmt
    """)


def suggested_rule(line: JudgedLine) -> Rule | None:
    """Return the narrowest rule that is of any use, or None."""
    asked = [command for command in line.commands if command.verdict is not Verdict.ALLOW]
    if len(asked) != 1 or line.is_blocked or not line.is_understood:
        return None
    if any(one.verdict is not Verdict.ALLOW for one in line.around):
        return None
    rule = _of_command(asked[0], line)
    if rule is None or RuleSet([rule]).judge(line, now=0.0).says is not Says.ALLOW:
        return None
    return _with_examples(rule, [arg.text or "" for arg in asked[0].argv])


def _with_examples(rule: Rule, texts: list[str]) -> Rule:
    """Add what the rule must and must not match, for everybody who reads it again."""
    if not set(rule.shells) <= {"bash", "zsh", "sh"}:
        return rule
    line = shlex.join(texts)
    others = [f"{line} > changed", f"{line} && unknown-program", f"{line} $(unknown-program)"]
    if rule.exact:
        others.append(f"{line} another-word")
    elif len(rule.command) > 1:
        others.append(shlex.join([*rule.command[:-1], "another-word"]))
    return replace(rule, examples=(line,), counter_examples=tuple(others))


def _of_command(command: Judged, line: JudgedLine) -> Rule | None:
    texts = [arg.text for arg in command.argv if arg.text is not None and not arg.is_home]
    # A command in a text of the line belongs to what runs it.
    is_alone = command.end > 0 or len(line.commands) == 1
    is_known = is_alone and len(texts) == len(command.argv) <= MAX_WORDS
    if not is_known or command.level >= Level.CRITICAL or any(command.contains(other) for other in line.commands):
        return None
    name = texts[0]
    base = name.rpartition("/")[2]
    if base in _RUN_ANYTHING or base.rstrip("0123456789.") in _RUN_ANYTHING or command.here.cwd is None:
        return None
    if any(one.effect in (Effect.PRIVILEGE, Effect.DEVICE, Effect.CREDENTIALS) for one in command.findings):
        return None
    words = _prefix(texts)
    if words is None:
        return None
    root = command.here.workspace or command.here.cwd
    if not is_within(command.here.cwd, root):
        root = command.here.cwd
    is_wide = (
        (base in _SUB_COMMANDS or base in _PROJECT_TOOLS)
        and "/" not in name
        # That the project's own code runs is what the rule is about.
        and all(one.level < Level.HIGH or one.effect is Effect.EXEC for one in command.findings)
        and not _depends_on_every_word(texts, command)
    )
    rule = _wide(words, command, root) if is_wide else None
    if rule is None or not _is_allowing(rule, command):
        rule = _exact(texts, command, root)
    return rule


def _depends_on_every_word(texts: list[str], command: Judged) -> bool:
    """Tell whether what it gets, sends or passes on is in its words."""
    is_remote = any(one.effect is Effect.NETWORK for one in command.findings)
    is_bare = texts[0] in _TARGETS and (len(texts) < 2 or texts[1].startswith("-"))
    return is_remote or is_bare or "--" in texts or any(text in _REMOTE for text in texts[1:3])


def _prefix(texts: list[str]) -> list[str] | None:
    """Return the program with its sub-command; None if that can run anything."""
    base = texts[0]
    never = _SUB_COMMANDS.get(base)
    if never is None:
        return texts[:1]
    if base in _TARGETS and (len(texts) < 2 or texts[1].startswith("-")):
        return texts
    if len(texts) < 2 or texts[1].startswith("-") or texts[1] in never:
        # `git` alone, or with options in front that may load other settings.
        return None
    if (base, texts[1]) in _NAMED_SCRIPTS:
        return texts[:3] if len(texts) > 2 and not texts[2].startswith("-") else None
    return texts[:2]


def _wide(words: list[str], command: Judged, root: str) -> Rule | None:
    """Return a rule for these words with the options that were given, for files of the workspace."""
    rest = command.argv[len(words) :]
    return _checked(
        Rule(
            Action.ALLOW,
            tuple(words),
            flags=_flags(rest),
            paths=WORKSPACE if command.here.workspace else ANYTHING,
            shells=(command.here.shell,),
            cwd=root,
            level=command.level,
        )
    )


def _exact(texts: list[str], command: Judged, root: str) -> Rule | None:
    return _checked(
        Rule(
            Action.ALLOW,
            tuple(texts),
            exact=True,
            shells=(command.here.shell,),
            # A program of this directory, or words that are paths from here, mean something else elsewhere.
            cwd=command.here.cwd if "/" in texts[0] or any("/" in text for text in texts[1:]) else root,
            level=command.level,
        )
    )


def _checked(rule: Rule) -> Rule | None:
    try:
        return Rule.checked(rule)
    except InvalidRule:  # a word with characters that no rule has
        return None


def _is_allowing(rule: Rule, command: Judged) -> bool:
    return RuleSet([rule]).judge(JudgedLine((command,)), now=0.0).says is Says.ALLOW


def _flags(args: tuple[Arg, ...]) -> tuple[str, ...]:
    found: list[str] = []
    for arg in args:
        text = arg.text or ""
        if text == "--":
            break
        if text.startswith("-") and text != "-":
            found.append(text.partition("=")[0])
    return tuple(dict.fromkeys(found))
