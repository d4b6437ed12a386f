"""Whether the words of a command are those of a rule: yes, no, or perhaps when words are only known when it runs.

Rules that allow are compared narrowly: what is not exactly there does not match. Rules that deny or ask are compared
widely: a program under any path, its options in any order and spelling, a sub-command behind options.
"""

import posixpath
from collections.abc import Sequence
from enum import IntEnum
from typing import Final

from hermitty.policy.arguments import Arg
from hermitty.policy.context import Surroundings
from hermitty.policy.places import resolve
from hermitty.policy.programs import TRUSTED
from hermitty.policy.rule import Rule


class Match(IntEnum):
    """How sure it is that a rule means a command."""

    NO = 0
    PERHAPS = 1
    YES = 2


# Options in front of the sub-command that take a value. Of other programs it is not known: both ways are tried.
_VALUED: Final = {
    program: frozenset(options.split())
    for program, options in {
        "git": "-C -c --git-dir --work-tree --namespace --exec-path --super-prefix --config-env --attr-source",
        "docker": "-H --host -c --context --config -l --log-level --tlscacert --tlscert --tlskey",
        "podman": "-c --connection --log-level --root --runroot --runtime --url --identity --tmpdir",
        "kubectl": "-n --namespace --context --cluster --user --kubeconfig -s --server --as --as-group --token -v "
        "--request-timeout --cache-dir --certificate-authority --client-certificate --client-key",
        "npm": "--prefix -w --workspace --userconfig --globalconfig --cache --registry --loglevel",
        "cargo": "-C -Z --config --color --explain --manifest-path --target-dir",
        "systemctl": "-H --host -M --machine -t --type -p --property -n --lines -o --output --root",
    }.items()
}
# The same option, whatever program it is for.
_SPELLINGS: Final = ({"-r", "-R", "--recursive"}, {"-f", "--force"})


def matches_narrowly(rule: Rule, argv: Sequence[Arg], here: Surroundings) -> bool:
    """Tell whether a rule that allows means exactly this."""
    if rule.is_everything:
        return True
    words = rule.command
    if len(argv) < len(words) or (rule.exact and len(argv) != len(words)):
        return False
    if not _is_program(words[0], argv[0], rule, here):
        return False
    if any(arg.text != word or arg.is_home for arg, word in zip(argv[1:], words[1:], strict=False)):
        return False
    rest = argv[len(words) :]
    if any(_is_taken_back(word, rest) for word in words[1:]):
        return False
    return rule.flags is None or _has_only(rule.flags, rest)


def matches_widely(rule: Rule, argv: Sequence[Arg], here: Surroundings) -> Match:
    """Tell whether a rule that denies or asks means this, or could mean it."""
    if rule.is_everything:
        return Match.YES
    if not argv:
        return Match.NO
    if argv[0].text is None:
        return Match.PERHAPS
    program = _base(argv[0].text, here.shell)
    words = rule.command
    if "/" in words[0]:
        own = resolve(words[0], Surroundings(cwd=rule.cwd or here.cwd))
        if argv[0].text != words[0] and resolve(argv[0].text, here) != own:
            return Match.NO
    elif program != _base(words[0], here.shell):
        return Match.NO
    args = argv[1:]
    if rule.exact:
        return _exactly(words[1:], args)
    plain = [word for word in words[1:] if not _is_flag(word)]
    flags = [word for word in words[1:] if _is_flag(word)]
    return min(_sub_command(plain, args, program), _flags(flags, args))


def _is_program(word: str, arg: Arg, rule: Rule, here: Surroundings) -> bool:
    """Tell whether an argument runs the program of a rule: by its name, or from where programs of the system are."""
    name = arg.text
    if name is None or arg.is_home:
        return False
    if "/" not in word:
        directory, slash, base = name.rpartition("/")
        if not slash:
            return name == word
        return base == word and directory in TRUSTED and posixpath.normpath(name) == name
    # `./run` is another program in every directory.
    own = resolve(word, Surroundings(cwd=rule.cwd))
    return "/" in name and own.startswith("/") and resolve(name, here) == own


def _is_taken_back(flag: str, rest: Sequence[Arg]) -> bool:
    """Tell whether a later option undoes an option of the rule: `--dry-run ... --no-dry-run`."""
    if not flag.startswith("--"):
        return False
    name = flag.partition("=")[0]
    undoing = (f"--no-{name[2:]}", f"{name}=")
    return any(
        arg.may_be_option if arg.text is None else arg.text == undoing[0] or arg.text.startswith(undoing[1])
        for arg in rest
    )


def _has_only(flags: Sequence[str], rest: Sequence[Arg]) -> bool:
    """Tell whether no options but these are given."""
    for arg in rest:
        if arg.text is None:
            if arg.may_be_option:
                return False
            continue
        if arg.text == "--":
            return True
        if not arg.text.startswith("-") or arg.text == "-":
            continue
        name = arg.text.partition("=")[0]
        letters = [f"-{letter}" for letter in arg.text[1:]] if not arg.text.startswith("--") else [name]
        if name not in flags and not all(letter in flags for letter in letters):
            return False
    return True


def _exactly(words: Sequence[str], args: Sequence[Arg]) -> Match:
    if any(arg.text is None for arg in args):
        return Match.PERHAPS
    return Match.YES if [arg.text for arg in args] == list(words) else Match.NO


def _sub_command(words: Sequence[str], args: Sequence[Arg], program: str) -> Match:
    """Look for words in their order, with nothing but options and their values between them."""
    valued = _VALUED.get(program)
    # What is left to find at each place; a place can be reached in several ways.
    reached: list[int] = [0] * (len(args) + 3)  # bit n: n words were found before this argument
    reached[0] = 1
    best = Match.NO
    for index, arg in enumerate(args):
        found = reached[index]
        if found >> len(words) & 1:
            return Match.YES
        if not found:
            continue
        if arg.text is None:
            best = Match.PERHAPS
        elif arg.text == "--":
            reached[index + 1] |= found
        elif _is_flag(arg.text):
            if valued is None or arg.text in valued:
                reached[index + 2] |= found
            if valued is None or arg.text not in valued:
                reached[index + 1] |= found
        for number, word in enumerate(words):
            if found >> number & 1 and arg.text == word:
                reached[index + 1] |= 1 << (number + 1)
    # An option at the end may have been counted with a value that is not there.
    at_end = reached[len(args)] | reached[len(args) + 1]
    return Match.YES if at_end >> len(words) & 1 else best


def _flags(flags: Sequence[str], args: Sequence[Arg]) -> Match:
    given: set[str] = set()
    is_open = False
    for arg in args:
        if arg.text is None:
            is_open = is_open or arg.may_be_option
        elif arg.text == "--":
            break
        elif _is_flag(arg.text):
            given.add(arg.text)
            given.add(arg.text.partition("=")[0])
            if not arg.text.startswith("--"):
                given.update(f"-{letter}" for letter in arg.text[1:])
    if all(_is_given(flag, given) for flag in flags):
        return Match.YES
    return Match.PERHAPS if is_open else Match.NO


def _is_given(flag: str, given: set[str]) -> bool:
    if flag in given:
        return True
    if flag.startswith("--"):
        # GNU programs take any unique beginning of a long option.
        if any(one.startswith("--") and len(one) > 3 and flag.startswith(one) for one in given):
            return True
        return any(flag in same and same & given for same in _SPELLINGS)
    letters = [f"-{letter}" for letter in flag[1:]]
    return all(
        letter in given
        or any(
            letter in same and (same & given or any(len(one) > 3 and _begins(same, one) for one in given))
            for same in _SPELLINGS
        )
        for letter in letters
    )


def _begins(spellings: set[str], word: str) -> bool:
    return word.startswith("--") and any(spelling.startswith(word) for spelling in spellings)


def _is_flag(word: str) -> bool:
    return word.startswith("-") and word not in ("-", "--")


def _base(name: str, shell: str) -> str:
    """Return the name of a program without its directory, as the shell compares it."""
    base = name.rpartition("/")[2].rpartition("\\")[2] if shell in ("pwsh", "powershell") else name.rpartition("/")[2]
    return base.casefold().removesuffix(".exe") if shell in ("pwsh", "powershell") else base
