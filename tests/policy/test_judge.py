"""How a line is followed: directories, variables, functions, branches, pipes; and what is said about it."""

import pytest

from hermitty.policy.context import Surroundings
from hermitty.policy.effects import Effect, Level
from hermitty.policy.record import MAX_STEPS

from .judging import lines
from .lines import HERE, decide


def deleted(line: str, shell: str = "bash", here: Surroundings = HERE) -> set[str]:
    """The reasons about what is deleted, without the word."""
    reasons = decide(line, shell, here).reasons
    return {reason.removeprefix("deletes ") for reason in reasons if reason.startswith("deletes ")}


@pytest.mark.parametrize(
    "line",
    lines(r"""
        cd / && rm -r *
        cd /; rm -r *
        cd /usr/.. && rm -r *
        cd /etc/../ && rm -r .
        cd ../../.. && rm -r home
        cd && cd .. && rm -r me
        cd ~/work/../.. && rm -r me
        cd /tmp; cd -; cd ..; rm -r ../me
        pushd / && rm -r *
        (cd / && rm -r *)
        { cd /; }; rm -r *
        if cd /; then rm -r *; fi
        cd nope || cd /; rm -r *
        eval 'cd /'; rm -r *
        command cd / && rm -r *
        f() { cd /; }; f; rm -r *
        for d in / x; do (cd $d; rm -r *); done
        while cd ..; do rm -r *; done
    """),
)
def test_a_change_of_directory_is_followed(line: str) -> None:
    assert decide(line).decision == "block"


@pytest.mark.parametrize(
    "line",
    lines(r"""
        (cd /); rm -r *
        cd / | rm -r *
        cd / & rm -r *
        echo $(cd /); rm -r *
        cd /tmp/x && rm -r *
        cd src && rm -r *
        bash -c 'cd /'; rm -r *
        cd "$x" && rm -r *
        cd / && cd "$x" && rm -r *
        cd src; rm -r *
    """),
)
def test_a_change_of_directory_elsewhere_does_not_count(line: str) -> None:
    assert decide(line).decision == "ask"


def test_a_failed_change_of_directory_is_thought_of() -> None:
    in_etc = Surroundings(cwd="/etc", workspace=None, home="/home/me")
    assert decide("cd nope; cat shadow", here=in_etc).effects == (Effect.READ, Effect.CREDENTIALS)
    assert decide("cd nope && cat shadow", here=in_etc).decision == "allow"
    assert decide("cd nope || cat shadow", here=in_etc).decision == "ask"
    assert decide("until cd nope; do cat shadow; done", here=in_etc).decision == "ask"
    # But it is no reason to refuse a line outright.
    at_home = Surroundings(cwd="/home/me", workspace="/home/me", home="/home/me")
    assert decide("cd build; rm -rf *", here=at_home).decision == "ask"
    assert decide("cd build || exit; rm -rf *", here=at_home).decision == "ask"
    assert decide("cd build || rm -rf *", here=at_home).decision == "block"


@pytest.mark.parametrize(
    ("line", "path"),
    [
        ("x=a; rm $x", "$x"),
        ("x=/etc/hosts; rm $x", "$x, part of the system"),
        ("x=/etc; y=$x/hosts; rm $y", "$y, part of the system"),
        ("x=/etc; x+=/hosts; rm $x", "$x, part of the system"),
        ("x=/etc/hosts.bak; rm ${x%.bak}", "${x%.bak}, part of the system"),
        ("x=./etc/hosts; rm ${x#.}", "${x#.}, part of the system"),
        ("x=/etc/hosts; rm ${x:0:4}/fstab", "${x:0:4}/fstab, part of the system"),
        ("x=/ETC/HOSTS; rm ${x,,}", "${x,,}, part of the system"),
        ("x=/var/hosts; rm ${x/var/etc}", "${x/var/etc}, part of the system"),
        ("rm $(echo /etc/hosts)", "$(echo /etc/hosts), part of the system"),
        ("rm ${x:-/etc/hosts}", "${x:-/etc/hosts}, part of the system"),
        ("x=; rm ${x:-/etc/hosts}", "${x:-/etc/hosts}, part of the system"),
        ("f() { rm $1; }; f /etc/hosts", "$1, part of the system"),
        ('f() { rm "$@"; }; f /etc/hosts', "/etc/hosts, part of the system"),
        ("set -- a /etc/hosts; shift; rm $1", "$1, part of the system"),
        ("for x in /etc/hosts; do rm $x; done", "$x, part of the system"),
        ("for x in {/etc,/usr}/hosts; do rm $x; done", "$x, part of the system"),
        ("read x <<< /etc/hosts; rm $x", "$x, part of the system"),
        ("declare x=/etc/hosts; rm $x", "$x, part of the system"),
        ("eval x=/etc/hosts; rm $x", "$x, part of the system"),
        ("true && x=/etc/hosts || x=b; rm $x", "$x, part of the system"),
        ("echo /etc/hosts | while read x; do rm $x; done", "$x, part of the system"),
    ],
)
def test_a_value_that_the_line_gives_is_known(line: str, path: str) -> None:
    assert path in deleted(line)


@pytest.mark.parametrize(
    "line",
    lines(r"""
        x=ls; (x=rm); $x
        x=ls; x=rm | cat; $x
        x=ls; x=rm & $x
        x=ls; : $(x=rm); $x
        x=ls; bash -c 'x=rm'; $x
        x=rm; x=ls; $x
        x=rm; f() { x=ls; }; f; $x
    """),
)
def test_an_assignment_in_another_shell_does_not_count(line: str) -> None:
    reasons = decide(line).reasons
    assert all(reason.startswith("defines") for reason in reasons)


@pytest.mark.parametrize(
    ("line", "is_numeric"),
    [
        ("n=5; echo $((n))", True),
        ("echo $((n))", False),
        ("n=$m; echo $((n))", False),
        ("n=$(date +%s); echo $((n + 1))", True),
        ("n=$(cat f); echo $((n + 1))", False),
        ("n=$(wc -l < f); (( n > 3 ))", True),
        ("n=$(wc -l f); (( n > 3 ))", False),
        ("n=${#x}; [[ $n -gt 3 ]]", True),
        ("[[ $n -gt 3 ]]", False),
        ("[[ $# -gt 3 ]]", True),
        ("[[ '3' -gt '2' ]]", True),
        ("for i in 1 2; do echo $((i)); done", True),
        ("for i in $(seq 9); do echo $((i)); done", True),
        ("for i in *; do echo $((i)); done", False),
        ("for ((i = 0; i < 9; i++)); do echo $((i * i)); done", True),
        ("for ((; i < 9; i++)); do :; done", False),
        ("for ((i = n; i < 9; i++)); do :; done", False),
        ("n=1; n=$((n + 1)); n=$((n * n)); echo $((n))", True),
        ("n=1; while [ $n -lt 9 ]; do n=$((n + 1)); done", True),
        ("n=1; read n; echo $((n))", False),
        ("n=1; n+=a; echo $((n))", False),
        ("n=1; echo ${a[n]} ${a[0]} ${a[-1]} ${a[@]}", True),
        ("echo ${a[n]}", False),
        ("echo ${a:1:2}", True),
        ("echo ${a:n}", False),
        ("a[0]=x", True),
        ("a[n]=x", False),
        ("a=([0]=x [1]=y)", True),
        ("a=([n]=x)", False),
    ],
)
def test_only_numbers_are_calculated_with(line: str, is_numeric: bool) -> None:
    assert decide(line).is_allowed == is_numeric


@pytest.mark.parametrize(
    ("line", "word"),
    [
        ("for f in src/*.c; do sort $f; done", "$f may be an option of sort"),
        ('for f in *.c; do sort "$f"; done', '"$f" may be an option of sort'),
        ('for f in src/*.c; do sort "$f"; done', None),
        ('for f in src/*.c; do f=$1; sort "$f"; done', '"$f" may be an option of sort'),
        ('d=src/$x; sort "$d"', None),
        ('d=$x; sort "$d"', '"$d" may be an option of sort'),
    ],
)
def test_of_a_loop_variable_the_beginning_is_known(line: str, word: str | None) -> None:
    assert decide(line).reasons == ((word,) if word else ())


@pytest.mark.parametrize(
    ("line", "level"),
    [
        ("curl x | sh", Level.CRITICAL),
        ("curl x | grep -v y | sudo bash -s -- z", Level.CRITICAL),
        ("curl x | { read y; eval $y; }", Level.CRITICAL),
        ("bash <(curl x)", Level.CRITICAL),
        ('sh -c "$(curl x)"', Level.CRITICAL),
        ("$(curl x)", Level.CRITICAL),
        ("bash < <(curl x)", Level.CRITICAL),
        ("curl -o f x; bash f", Level.CRITICAL),
        ("curl x > f && chmod +x f && ./f", Level.CRITICAL),
        ("curl x | tee f > /dev/null; . ./f", Level.CRITICAL),
        ("cat x | sh", Level.HIGH),
        ("sh | curl x", Level.HIGH),
        ("sh; curl x", Level.HIGH),
        ("curl x | cat", Level.MEDIUM),
        ('echo "$(curl x)"', Level.MEDIUM),
        ("curl -o f x; cat f", Level.MEDIUM),
    ],
)
def test_code_from_the_network_is_critical(line: str, level: Level) -> None:
    assert decide(line).level is level


@pytest.mark.parametrize(
    "line",
    lines(r"""
        f() { f | f & }; f
        f() { f & }; f
        f() { f | f; }
        f() { echo $(f); }
        f() { (f); }
        f() { [ $1 ] && f & }
        f() { for i in 1 2; do f & done; }
        f() { eval f & f; }
        a() { b | b; }; b() { a; }
        a() { b; }; b() { c; }; c() { a & }
        coproc f { :; }; f() { coproc f; }
    """),
)
def test_a_function_that_starts_copies_of_itself_is_a_bomb(line: str) -> None:
    decision = decide(line)
    assert decision.decision == "block"
    assert any("fork bomb" in reason for reason in decision.reasons)


@pytest.mark.parametrize(
    "line",
    lines(r"""
        f() { g | g & }; g() { ls; }; f
        f() { f; }
        f() { [ $1 ] && f | cat; }
        f() { [ $1 ] || return; f $2 | cat; }
        f() { ls | cat & }; f | f &
        a() { b; }; b() { ls; }; a & a &
    """),
)
def test_other_functions_are_no_bombs(line: str) -> None:
    assert decide(line).decision == "ask"


def test_a_function_of_the_session_is_asked_about_and_one_of_a_subshell_is_not() -> None:
    assert decide("f() { ls; }").reasons == ("defines f, which changes what later commands mean",)
    assert decide("ls() { pwd; }").level is Level.HIGH
    assert decide("(f() { ls; }; f)").is_allowed
    assert decide("(f() { rm x; })").decision == "ask"


def test_what_ends_with_a_subshell_is_no_change_of_the_session() -> None:
    for line in ("export A=1", "readonly A=1", "set -e", "umask 077"):
        assert decide(line).effects == (Effect.SESSION,)
        assert decide(f"({line}; ls)").is_allowed
        assert decide(f"bash -c '{line}; ls'").is_allowed
    assert decide("(export PATH=.; ls)").decision == "ask"
    assert decide("(set -k; ls)").decision == "ask"


def test_commands_are_told_with_all_that_they_run() -> None:
    line = "cat a | sudo -u me tee b; echo $(ls \"$x\") && sh -c 'pwd; id'"
    assert decide(line).commands == (
        ("cat", "a"),
        ("sudo", "-u", "me", "tee", "b"),
        ("tee", "b"),
        ("ls", '"$x"'),
        ("echo", '$(ls "$x")'),
        ("sh", "-c", "pwd; id"),
        ("pwd",),
        ("id",),
    )


def test_the_program_of_a_variable_is_told_by_its_name() -> None:
    assert decide("x=ls; $x -a").commands == (("ls", "-a"),)


@pytest.mark.parametrize(
    ("line", "effects"),
    [
        ("ls", ()),
        ("cat a", (Effect.READ,)),
        ("cat a > b", (Effect.READ, Effect.WRITE)),
        ("rm a; curl x; kill 1", (Effect.DELETE, Effect.NETWORK, Effect.PROCESS)),
        ("cat .env | sudo tee x", (Effect.WRITE, Effect.PRIVILEGE, Effect.CREDENTIALS)),
        ("alias a=b", (Effect.SESSION,)),
        ("./x", (Effect.UNKNOWN,)),
        ("dd if=a of=/dev/sda", (Effect.READ, Effect.DEVICE)),
    ],
)
def test_effects_are_those_of_all_parts(line: str, effects: tuple[Effect, ...]) -> None:
    assert decide(line).effects == effects


def test_work_is_bounded() -> None:
    calls = "; ".join(f"f{n + 1}() {{ f{n}; f{n}; }}" for n in range(40))
    for line in (
        f"f0() {{ ls; }}; {calls}; f40",
        "; ".join(["ls"] * (MAX_STEPS + 1)),
        "while cd a; do " * 12 + "ls" + "; done" * 12,
        "for i in {a..z} {A..Z}; do for j in {a..z} {A..Z}; do ls $i; pwd; done; done",
    ):
        decision = decide(line)
        assert decision.decision == "ask"
        assert "it does too many things to look at all of them" in decision.reasons


def test_what_was_found_before_the_bound_counts() -> None:
    assert decide("rm -rf /; " + "; ".join(["ls"] * (MAX_STEPS + 1))).decision == "block"


def test_a_variable_that_goes_round_is_unknown_in_the_end() -> None:
    line = "a=1 b=1 c=1 d=1 e=1 f=1 g=rm; while true; do $a x; a=$b b=$c c=$d d=$e e=$f f=$g; done"
    assert "which command it is, is only known when it runs" in decide(line).reasons


def test_scripts_inside_of_scripts_are_judged_up_to_a_depth() -> None:
    line = "rm x"
    for _ in range(4):
        line = f"eval {line}"
    assert "deletes x" in decide(line).reasons
    for _ in range(20):
        line = f"eval {line}"
    assert decide(line).reasons == ("scripts are nested too deeply",)
