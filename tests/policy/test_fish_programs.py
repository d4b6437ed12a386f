"""Commands of fish: queries run without a question; what changes the session or runs something is asked about."""

import pytest

from hermitty.policy.context import Surroundings
from hermitty.policy.effects import Effect, Level, Verdict
from hermitty.policy.evaluate import expand
from hermitty.policy.parser import parse
from hermitty.policy.programs import find_program
from hermitty.policy.syntax.commands import Simple
from hermitty.policy.syntax.tree import walk

from .judging import Judging, judged_script, lines

LOW, MEDIUM, HIGH = Level.LOW, Level.MEDIUM, Level.HIGH
FISH = Surroundings(cwd="/home/me/work", workspace="/home/me/work", home="/home/me", shell="fish")

SAFE = lines(r"""
    echo (pwd)
    echo hello; pwd
    echo $x | string upper
    set
    set -q x
    set --query x; and echo yes
    set -S PATH
    set -n
    set x 5
    set -l files (ls)
    set -g x a b c
    set x[1] a
    set -e x
    set -a list y
    set --local n (count *.md)
    set -gx LANG C
    string length hello
    string match '*.py' $x
    string match -r '\d+' abc123
    string match -rq '^a' $x
    string match -r '(?<=a)b' $x
    string match -r '(?<number>\d+)' $x
    string replace a b $x
    string replace -r 'a(.)' '$1' $x
    string split , a,b,c
    string join , a b
    string trim ' a '
    string sub -s 1 -l 3 hello
    string escape -- $x
    math 1 + 2
    math "$x * 3"
    math --scale=2 10 / 3
    count *.md
    contains a $list
    contains -i -- a b a
    test -f x
    test -f x; and cat x
    [ -d src ]
    test "$x" = y
    random 1 10
    random choice a b
    functions
    functions -n
    functions fish_prompt
    functions -q foo
    type ls
    type -q ls
    status
    status is-interactive
    status filename
    status --is-login
    abbr
    abbr --list
    abbr -s
    alias
    bind
    complete
    command -v ls
    command -s ls
    command -q ls
    command ls -l
    builtin -n
    builtin pwd
    builtin echo x
    jobs
    jobs -l
    history
    history search foo
    cd src
    cd ..
    pushd src
    prevd
    dirs
    umask
    ulimit -a
    ulimit -n
    set_color red
    isatty stdin
    path basename a/b
    path extension x.py
    path filter -f *
    printf '%s\n' a
    read x
    read -l x y
    read -P 'name: ' x
    read --line a b
    eval ls
    eval 'echo a'
    argparse h/help n/name= -- $argv
    exit
    exit 1
    true; or false
    fish_indent x.fish
    fish_indent --check x.fish
    if test -f x; cat x; end
    for f in *.md; wc -l $f; end
    while read line; echo $line; end
    git status
    ls | head -3
    env LANG=C ls
    ls (dirname x)
""")

HOSTILE = lines(r"""
    echo (rm -r cache)
    set x (rm y)
    set PATH . $PATH
    set -gx PATH . $PATH
    set -p PATH .
    set -x PATH .
    set -Ux x 1
    set -U x 1
    set --universal x 1
    set --univ x 1
    set -x FOO bar
    set -gx EDITOR vim
    set -x LD_PRELOAD ./x.so
    set fish_user_paths .
    set -U fish_user_paths .
    set fish_function_path .
    set -g fish_greeting x
    set PAGER x
    set -e PATH
    set $x y
    set -l $x y
    set --frobnicate x
    set $x
    read PATH
    read -x x
    read -p 'rm x' y
    read --prompt='rm x' y
    read --promp 'rm x' y
    read -R 'rm x' y
    read $x
    string match -r '(?<PATH>.*)' .
    string match -rq '(?<fish_user_paths>.*)' .
    string match --regex '(?P<PATH>.*)' .
    string match -r $pattern x
    string $x
    functions -e ls
    functions --erase ls
    functions -c a b
    functions $x
    abbr -a ls 'rm x'
    abbr --add x y
    abbr x y
    abbr -e x
    abbr --query x --add y
    alias ls='rm x'
    alias ls 'rm x'
    alias --save x y
    bind \cx 'rm x'
    bind -e \cx
    complete -c x -a '(rm y)'
    complete -C 'x '
    trap 'rm x' EXIT
    source x
    source x.fish
    . x
    cat x | source
    eval 'rm x'
    eval $x
    eval rm x
    exec ls
    exec rm x
    command rm x
    command $x
    builtin eval 'rm x'
    builtin set PATH .
    builtin source x
    argparse 'n=!rm x' -- $argv
    argparse $x
    history clear
    history delete x
    history merge
    history $x
    umask 0
    ulimit -n 5
    status job-control full
    status --job-control full
    fish_add_path .
    funcsave x
    funced x
    vared PATH
    fish_config
    export PATH=.
    setenv x y
    emit x
    block -g
    commandline -f execute
    fg
    bg
    disown
    open x
    help
    fish_indent -w x.fish
    fish_indent --write x.fish
    function ls; rm x; end
    rm x
    git push
    frobnicate
    xargs rm
    env PATH=. ls
    hash -r x
    declare x=1
    enable -f x
    shopt -s x
""")

LEVELS = [
    ("set PATH .", HIGH, Effect.SESSION),
    ("set -x FOO bar", LOW, Effect.SESSION),
    ("set -U x 1", HIGH, Effect.SESSION),
    ("alias ls='rm x'", HIGH, Effect.SESSION),
    ("abbr -a x y", HIGH, Effect.SESSION),
    ("source x", MEDIUM, Effect.EXEC),
    ("fg", LOW, Effect.PROCESS),
    ("read -p 'rm x' y", HIGH, Effect.EXEC),
    ("fish_add_path .", HIGH, Effect.SESSION),
]


@pytest.mark.parametrize("line", SAFE)
def test_a_query_runs_without_a_question(line: str) -> None:
    found = judged_script(line, FISH)
    assert found.verdict is Verdict.ALLOW, [one.reason for one in found.items]


@pytest.mark.parametrize("line", HOSTILE)
def test_what_does_more_is_asked_about(line: str) -> None:
    assert judged_script(line, FISH).verdict is not Verdict.ALLOW


@pytest.mark.parametrize(("line", "level", "effect"), LEVELS)
def test_a_change_has_its_level(line: str, level: Level, effect: Effect) -> None:
    found = judged_script(line, FISH)
    assert found.level is level
    assert effect in {one.effect for one in found.items if one.level is level}


def test_a_text_is_judged_as_a_script_of_fish() -> None:
    judge = Judging(FISH)
    [command] = [node for node in walk(parse("eval echo a", "fish")) if isinstance(node, Simple)]
    judge.command([arg for word in command.words for arg in expand(word, {}, shell="fish")])
    assert judge.scripts == [("echo a", "fish")]


def test_commands_of_other_shells_are_not_known() -> None:
    for name in ("declare", "shopt", "hash", "enable", "let"):
        assert find_program(name, "fish") is None
    for name in ("abbr", "string", "functions"):
        assert find_program(name, "bash") is None
