"""What needs no question because a sandbox confines it: a short table, and everything else is asked as ever.

It holds in terminals whose sandbox is what was asked for (bubblewrap, nothing weaker), without a network. There, two
things may happen: files of the workspace are written, and tools that build and test run code of the project. Both can
spoil the workspace, which is what the sandbox leaves open; neither can leave it. Deletions, history, other machines,
rights, secrets, other programs and whatever is not understood stay questions.
"""

from typing import Final

from hermitty.policy.effects import Effect, Finding, Level, Verdict
from hermitty.policy.judged import Judged, JudgedLine
from hermitty.policy.places import is_within

# Programs whose one worry is that they run code of the project.
PROJECT_TOOLS: Final = frozenset(
    {
        *("make", "gmake", "ninja", "samu", "cmake", "ctest", "meson", "bazel", "gradle", "mvn", "ant", "sbt", "just"),
        *("pytest", "py.test", "tox", "nox", "jest", "vitest", "mocha", "ava", "bats", "phpunit", "rspec", "ctest"),
        *("cargo", "go", "dotnet", "mix", "zig", "swift", "stack", "cabal", "rake", "npm", "yarn", "pnpm", "bun"),
        *("tsc", "eslint", "prettier", "ruff", "black", "isort", "mypy", "pyright", "pylint", "flake8", "rubocop"),
        *("gcc", "g++", "cc", "c++", "clang", "clang++", "rustc", "javac", "webpack", "vite", "rollup", "esbuild"),
        *("python", "python3", "node", "ruby", "perl", "php", "java", "coverage"),
    }
)


def is_confined(line: JudgedLine, root: str) -> bool:
    """Tell whether a sandbox whose only writable place is `root` contains everything worrying about a line."""
    if not line.is_understood or line.is_blocked:
        return False
    return all(_is_write(one, root) for one in line.around if one.verdict is not Verdict.ALLOW) and all(
        _is_contained(command, root) for command in line.commands
    )


def _is_contained(command: Judged, root: str) -> bool:
    worrying = [one for one in command.findings if one.verdict is not Verdict.ALLOW]
    return all(_is_write(one, root) or _runs_project(one, command, root) for one in worrying)


def _is_write(finding: Finding, root: str) -> bool:
    return (
        finding.verdict is Verdict.ASK
        and finding.effect is Effect.WRITE
        and finding.level <= Level.MEDIUM
        and finding.path is not None
        and finding.path != root
        and is_within(finding.path, root)
    )


def _runs_project(finding: Finding, command: Judged, root: str) -> bool:
    """Tell whether a tool runs code of the project, in the project."""
    name = _program(command)
    if name not in PROJECT_TOOLS or finding.verdict is not Verdict.ASK or finding.level > Level.MEDIUM:
        return False
    cwd = command.here.cwd
    if cwd is None or not is_within(cwd, root):
        return False
    # Tools that format or compile write without saying where.
    return finding.effect is Effect.EXEC or (finding.effect is Effect.WRITE and finding.path is None)


def _program(command: Judged) -> str | None:
    """Return the name of a program that is found by its name: a path may lead to anything."""
    word = command.argv[0].text if command.argv else None
    return word if word is not None and "/" not in word else None
