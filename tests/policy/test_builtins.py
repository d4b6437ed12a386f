"""Commands of the shells themselves: what they do to the session, and names that run code."""

from dataclasses import replace

import pytest

from hermitty.policy.effects import Effect

from .judging import HERE, is_allowed, is_asked, judged, lines

ZSH = replace(HERE, shell="zsh")

SAFE = lines(r"""
    cd
    cd src
    cd -
    cd "$x"
    cd $x
    cd -P /tmp
    pushd src
    popd
    popd +1
    dirs
    pwd
    :
    true
    echo $x
    type ls
    type -a ls
    command -v ls
    hash
    hash -r
    help cd
    history
    history 20
    fc -l
    jobs -l
    wait
    wait $!
    times
    export
    export -p
    export LANG=C
    export LC_ALL=C.UTF-8 TZ=UTC
    export NO_COLOR=1
    declare
    declare -p
    declare -p PATH
    declare -f
    declare -F
    declare x=1
    declare -a x
    local x=1
    local x="$y"
    typeset x=1
    unset x
    unset x y
    unset -v x
    alias
    alias ll
    set
    set -o
    set -- a b
    shopt
    shopt -p extglob
    shopt nullglob
    trap
    trap -p
    enable
    enable -p
    umask
    umask -S
    ulimit -a
    ulimit -n
    read x
    read -r line
    read -r -d '' a b
    read -p 'Name: ' name
    mapfile -t lines
    printf '%s\n' x
    printf '%d\n' 5
    printf -v x '%s' y
    printf -- "$f"
    test -f x
    test -v x
    test -v 'x[1]'
    [ -f x ]
    [ -f "$f" ]
    [ -n "$x" ]
    [ "$x" = y ]
    [ "$x" -eq 1 ]
    [ $? -eq 0 ]
    [ $# -gt 1 ]
    [ -z "$x" -o -d y ]
    [ ! -e x ]
    [ "$x" ]
    [ -d a -a -d b ]
    let x=1+2
    exit
    exit 1
    return 0
    shift
    getopts ab: opt
    compgen -c
    bind -p
    complete -p
""")

HOSTILE = lines(r"""
    export PATH=./bin
    export FOO=bar
    export FOO
    export LD_PRELOAD=x
    export -n PATH
    export -f ls
    export $x
    export "$x"
    export PATH="$x"
    export GIT_PAGER=./x
    declare -x FOO=bar
    declare -x PATH=.
    declare PATH=.
    declare -n a=b
    declare 'a[$(id)]=1'
    declare -i 'x=a[$(id)]'
    declare -i n=5
    declare -i n
    declare -u word
    declare -fx f
    declare -i x="$y"
    declare $x
    local PATH=.
    typeset 'a[$(id)]'
    readonly x=1
    readonly PATH
    unset PATH
    unset 'a[$(id)]'
    unset -f ls
    unset -f
    unset $x
    unset "$x"
    alias ls=rm
    alias cat='curl -T -'
    alias "$x"
    alias -g x=y
    unalias ls
    unalias -a
    set -e
    set -o vi
    set +e
    set -euo pipefail
    set $x
    shopt -s extdebug
    shopt -u x
    shopt "$x"
    trap 'rm x' EXIT
    trap - EXIT
    trap "$x" EXIT
    hash -p ./x ls
    hash -d ls
    hash "$x"
    enable -f ./x.so y
    enable -n echo
    enable ls
    source x
    . ./x
    source ~/.bashrc
    exec ls
    exec rm x
    exec
    eval 'rm x'
    builtin source x
    command source x
    umask 000
    ulimit -n 5
    ulimit -n5
    ulimit -n "$x"
    history -c
    history -w x
    history -p '$(id)'
    fc
    fc -s
    fc -e vim
    jobs -x rm x
    wait -p 'a[$(id)]'
    wait -n -p PATH
    read PATH
    read -r 'a[$(id)]'
    read "$x"
    read $x
    read -a PATH
    read -ra 'a[$(id)]'
    mapfile -C 'rm x' -c 1 a
    mapfile 'a[$(id)]'
    mapfile -t PATH
    printf -v 'a[$(id)]' x
    printf -v PATH x
    printf -v"$x" y
    printf -v "$x" y
    printf '-va[$(id)]' x
    printf "$x" y
    printf '%n' PATH
    test -v 'a[$(id)]'
    test -v "$x"
    [ -v 'a[$(id)]' ]
    [ -v "$x" ]
    [ ! -v 'a[$(id)]' ]
    [ -f x -a -v 'a[$(id)]' ]
    [ -R 'a[$(id)]' ]
    [ $x ]
    [ $x = y ]
    [ "$x" "$y" ]
    [ "$x" 'a[$(id)]' ]
    test $x
    test "$x" "$y"
    let 'a[$(id)]=1'
    let x=y
    let "$x"
    let PATH=1
    getopts ab: PATH
    getopts ab: 'a[$(id)]'
    compgen -C id
    compgen -W '$(id)'
    compgen -F f
    complete -C id x
    bind -x '"a": id'
    bind 'x: y'
    fg
    bg
    disown -a
    suspend
""")

SAFE_ZSH = lines(r"""
    print x
    print -l *.md
    print -rl -- $x
    print -n x
    whence -p ls
    which ls
    where ls
    noglob ls *
    exit 1
    exit $?
    read -r x
    [ -t 1 ]
    setopt
    printf '%s\n' "$x"
    printf '%d\n' 5
    [ "$x" -eq 1 ]
""")

HOSTILE_ZSH = lines(r"""
    print -P '$(id)'
    print -rP x
    print -z 'rm x'
    print -s x
    print -v PATH x
    print -v 'a[$(id)]' x
    noglob rm x
    nocorrect rm x
    setopt promptsubst
    unsetopt x
    autoload x
    zmodload zsh/system
    emulate sh
    bindkey x y
    functions x
    printf '%d' 'a[$(id)]'
    printf '%d' "$x"
    printf '%*s' 'a[$(id)]' x
    [ 'a[$(id)]' -eq 1 ]
    test 1 -lt 'a[$(id)]'
    declare path=x
    hash ls=rm
    vared x
    exit 'a[$(id)]'
    exit "$x"
    shift 'a[$(id)]'
    return 'a[$(id)]'
    break 'a[$(id)]'
    [ -t 'a[$(id)]' ]
    read -t 'a[$(id)]' x
    read -p PATH
    unset 'a[$(id)]'
    print -f %d 'a[$(id)]'
    zle -N x
    sched now x
""")


@pytest.mark.parametrize("line", SAFE)
def test_harmless_ones_pass(line: str) -> None:
    assert is_allowed(line)


@pytest.mark.parametrize("line", HOSTILE)
def test_those_that_change_the_session_or_run_code_are_asked_about(line: str) -> None:
    assert is_asked(line)


@pytest.mark.parametrize("line", SAFE_ZSH)
def test_harmless_ones_of_zsh_pass(line: str) -> None:
    assert is_allowed(line, ZSH)


@pytest.mark.parametrize("line", HOSTILE_ZSH)
def test_others_of_zsh_are_asked_about(line: str) -> None:
    assert is_asked(line, ZSH)


@pytest.mark.parametrize("line", ["print x", "whence ls", "noglob ls", "setopt", "autoload x"])
def test_commands_of_zsh_are_unknown_elsewhere(line: str) -> None:
    assert is_asked(line)


@pytest.mark.parametrize("line", ["/usr/bin/export", "/bin/cd x", "/usr/bin/eval ls", "/usr/bin/source x"])
def test_a_path_never_names_a_builtin(line: str) -> None:
    assert [one.effect for one in judged(line).items] == [Effect.UNKNOWN]


def test_what_changes_the_session_is_marked() -> None:
    for line in ("alias a=b", "export PATH=x", "unalias a", "shopt -s x", "trap 'ls' EXIT", "hash -p x y", "source x"):
        assert Effect.SESSION in {one.effect for one in judged(line).items}, line
