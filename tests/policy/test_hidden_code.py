"""Code in places that look like data: quoted lists, subscripts, formats, patterns, options in clusters."""

import pytest

from hermitty.policy.effects import Level

from .judging import lines
from .lines import decide

ASKED = lines(r"""
    jobs -rx touch y
    jobs -r -x touch y
    jobs -xl touch y
    jobs -sx touch y
    builtin jobs -rx touch y
    command jobs -nx touch y
    declare -a 'x=($(touch y))'
    declare -a x='($(touch y))'
    declare -a x+='($(touch y))'
    declare -Ag 'x=([k]=$(touch y))'
    declare -a x="$(cat f)"
    declare -a "x=($z"
    while read -r y; do declare -a x="$y"; done
    a=(1); declare 'a=($(touch y))'
    a=(1); declare a="$(cat f)"
    a[0]=1; declare a="$(cat f)"
    declare a="$(cat f)"
    declare 'DIRSTACK=($(touch y))'
    typeset -a 'x=($(touch y))'
    ( export -a 'x=($(touch y))' )
    ( readonly -a 'x=($(touch y))' )
    ( export 'x=($(touch y))' )
    ( export x="$(cat f)" )
    bash -c 'a=(1); export a="$(cat f)"'
    bash -c 'a=1; a[1]=2; declare a="$(cat f)"'
    bash -c 'read -a a < f; declare a="$(cat f)"'
    bash -c 'mapfile -t a < f; declare a="$(cat f)"'
    bash -c 'declare -a a; declare a="$(cat f)"'
    bash -c 'declare a=(1); declare a="$(cat f)"'
    bash -c 'f() { local -a "x=($1"; }; f "$(cat f)"'
    bash -c 'f() { local -a x; local x="$1"; }; f "$(cat f)"'
    bash -c 'f() { local DIRSTACK="$1"; }; f "$(cat f)"'
    bash -c 'f() { declare -g x="$1"; }; x=(1); f "$(cat f)"'
    a=(1); x='b[$(touch y)]'; [ -v 'a[x]' ]
    a=(1); x='b[$(touch y)]'; test -v 'a[x]'
    a=(1); x='b[$(touch y)]'; unset 'a[x]'
    a=(1); x='b[$(touch y)]'; [[ -v 'a[x]' ]]
    printf '%ln' PATH
    printf '%hn' PATH
    printf '%jn%zn' PATH
    echo . | xargs --process-slot-var=PATH ls
    cat ${x:-/etc/shado*}
    x='/etc/shado*'; cat $x
""")

ASKED_IN_ZSH = lines(r"""
    jobs -Z x
    ls ${x:-*(e:'touch y':)}
    ls ${x:+*(e:'touch y':)}
    ls ${x-*(e:'touch y':)}
    ls ${x:-${y:-*(e:'touch y':)}}
    cd ${x:-*(/e:'touch y':)}
    ls ${x:-=(touch y)}
    for i in ${x:-*(e:'touch y':)}; do ls; done
    x='a[$(touch y)]'; printf %d x
    x='a[$(touch y)]'; print -f %d x
    x='a[$(touch y)]'; printf '%s %d' 1 x
    x='a[$(touch y)]'; printf '%s\n%d\n' 1 2 3 x
    printf '%d' 'PATH=3'
    printf '%*s' x y
    printf '%.*f' x 1
    printf '%2$s %1$d' x y
    printf '%5%%d' x
    printf '%ld' x
    printf '%(%Y)T' x
    x='a[$(touch y)]'; [ x -eq 1 ]
    x='a[$(touch y)]'; test 1 -lt x
    fc -l -W .zshrc
    fc -lr -W
    fc -l -A .zshrc
    fc -l -R f
    fc -l -p f
    typeset -fu ls
    typeset -uf ls
""")

ALLOWED = lines(r"""
    jobs
    jobs -lr %1
    jobs -x ls
    declare -a list=(a b); echo "${list[@]}"
    declare -a x=()
    declare x=/a/"$y"
    ( f() { local x="$1"; echo "$x"; }; f a )
    ( f() { local x=$(date); local n=$#; echo "$x $n"; }; f a )
    ( f() { declare x=$(date); echo "$x"; }; f a )
    bash -c 'export A="$(date)"; echo "$A"'
    bash -c 'declare A="$(date)"; echo "$A"'
    ls ${x:-*.md}
    cat ${x:-/etc/hos*}
    x='a*'; ls $x
    ls "${x:-(a)}"
    a=(1); unset 'a[0]'
    a=(1); [ -v 'a[-1]' ]
    fc -l -20
    fc -n -l -20 -10
    printf '%ld\n' 5
    printf '%s\n' '%n'
""")

ALLOWED_IN_ZSH = lines(r"""
    jobs -d
    ( f() { local x="$1"; echo "$x"; }; f a )
    ls ${x:-*.md}
    ls "${x:-(a)}"
    printf '%s: %d%%\n' total 5 rest 6
    print -f '%s\n' x
    [ 1 -eq 1 ]
    [ "$#" -eq 1 ]
    fc -lr 1 20
    typeset -f ls
""")


@pytest.mark.parametrize("line", ASKED)
def test_hidden_code_is_asked_about(line: str) -> None:
    assert decide(line).decision == "ask"


@pytest.mark.parametrize("line", ASKED_IN_ZSH)
def test_hidden_code_of_zsh_is_asked_about(line: str) -> None:
    assert decide(line, "zsh").decision == "ask"


@pytest.mark.parametrize("line", ALLOWED)
def test_what_only_looks_like_it_is_allowed(line: str) -> None:
    assert decide(line).reasons == ()


@pytest.mark.parametrize("line", ALLOWED_IN_ZSH)
def test_what_only_looks_like_it_in_zsh_is_allowed(line: str) -> None:
    assert decide(line, "zsh").reasons == ()


@pytest.mark.parametrize(
    "line",
    lines(r"""
        jobs -rx rm -rf /
        env -S 'rm -rf /'
        env -S 'rm -rf' /
        env -S 'A=1 rm "-rf" /'
        printf -v x /; rm -rf $x
        printf -v x %s /; rm -rf "$x"
        a=(/); rm -rf "${a[@]}"
        a=(-rf /); rm ${a[*]}
        a=(x /); cd y; rm -rf "${a[@]}"
    """),
)
def test_what_destroys_is_found_there(line: str) -> None:
    assert decide(line).decision == "block"


@pytest.mark.parametrize(
    "line",
    lines(r"""
        a=(/); a=(x); rm -rf "${a[@]}"
        a=(/); a=x; rm -rf "${a[@]}"
        printf -v x %d /; rm -rf "$x"
        printf -v x '\57'; rm -rf "$x"
    """),
)
def test_what_may_not_destroy_is_asked_about(line: str) -> None:
    assert decide(line).decision == "ask"


def test_what_an_array_was_given_is_read() -> None:
    assert decide('a=(/etc/shadow); cat "${a[@]}"').decision == "ask"
    assert decide('a=(/etc/hosts); cat "${a[@]}"').decision == "allow"


def test_commands_that_are_made_and_run_in_this_shell_are_grave() -> None:
    assert decide("source <(echo ls)").level is Level.HIGH
    assert decide("source ./x").level is Level.MEDIUM
