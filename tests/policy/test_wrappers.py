"""Programs that run others: what is inside counts, and so do variables and options around it."""

import pytest

from hermitty.policy.effects import Effect, Level, Verdict
from hermitty.policy.findings import RUNS_INPUT
from hermitty.policy.programs.variables import dangerous_variable

from .judging import Judging, is_allowed, is_asked, judged, lines, words

SAFE = lines(r"""
    env
    env -0
    env ls -l
    env LANG=C ls
    env -i ls
    env - ls
    env -u FOO ls
    env A=1 B=2 grep x y
    env GIT_PAGER=cat ls
    /usr/bin/env ls
    timeout 5 ls
    timeout -k 1 -s KILL 5s grep -r x .
    timeout --signal=TERM 5 cat x
    nice ls
    nice -n 10 du -sh .
    nice -10 ls
    ionice -c3 du .
    setsid ls
    stdbuf -oL grep x y
    stdbuf -o L -e0 tail -f x
    time ls
    time -p ls
    xargs
    xargs ls
    xargs -0 grep foo
    xargs -n1 basename
    xargs -I{} echo {}
    xargs -I {} grep -l x {}
    xargs -n 1 -P 4 wc -l
    xargs -i cat {}
    xargs -a list cat
    watch ls
    watch -n 5 'ls -l | wc -l'
    watch -d -x df -h
    sh -c ls
    sh -c 'ls | wc -l'
    bash -c 'ls; pwd'
    bash -lc 'ls'
    bash -euo pipefail -c 'ls'
    bash -ceuo pipefail 'ls'
    bash -c 'ls' name 'rm x'
    bash -n script.sh
    bash --version
    zsh -c ls
    fish -c ls
    busybox ls
    command ls
    command -v rm
    command -V rm
    builtin echo x
    eval ls
    eval 'ls -l' x
    env timeout 5 nice ls
    timeout 5 env A=1 sh -c 'xargs grep x'
    caffeinate -i ls
""")

HOSTILE = lines(r"""
    env rm x
    env -i rm -r cache
    env A=1 rm x
    env -S 'rm x'
    env -S'rm x'
    env --split-string='rm x'
    env --sp 'rm x'
    env -C / ls
    env -u A -- rm x
    env LD_PRELOAD=./x.so date
    env PATH=. ls
    env GIT_EXTERNAL_DIFF=./x ls
    env BASH_ENV=x ls
    env PAGER=./x ls
    env GIT_PAGER=./x ls
    env LESSOPEN='|id' less x
    env "$x" ls
    env $x ls
    env A="$x"$y ls
    env A=$x ls
    env 'a b=c' ls
    env nonsense
    timeout 5 rm x
    timeout 3 rm -r cache
    timeout $x ls
    timeout 5 $x
    timeout -s KILL 5 rm x
    nice rm x
    nice -n 5 rm x
    nice --adjustment=5 rm x
    ionice -p 1
    setsid rm x
    stdbuf -oL rm x
    nohup ls
    nohup rm x
    time -o x ls
    time --output=x ls
    time rm x
    xargs rm
    xargs -0 rm -f
    xargs sh
    xargs sh -c 'rm x'
    xargs -I{} sh -c 'echo {}'
    xargs -I{} {}
    xargs -I % rm %
    xargs sort
    xargs sed -n 1p
    xargs uniq
    xargs tee
    xargs find
    xargs env
    xargs timeout 5
    xargs -n1 -I{} mv {} x
    xargs --replace=X cp X y
    xargs $x
    xargs -a .env echo
    watch rm x
    watch 'ls; rm x'
    watch -x rm x
    watch "ls $x"
    sh
    sh x.sh
    sh ./x
    sh -s
    sh -
    bash
    bash x.sh
    bash -c 'rm x'
    bash -c 'pwd; rm -r cache'
    bash -xc 'rm x'
    bash -c -x 'rm x'
    zsh -c -O 'rm x' 'ls'
    bash -c -o posix ls
    ltrace -L rm ls
    bash -c "$x"
    bash -c "ls $x"
    bash --rcfile x -c ls
    bash --init-file x
    bash -ic "$x"
    bash -in x
    bash -n
    zsh x
    fish x
    fish -C 'rm x' -c ls
    fish --init-command='rm x' -c ls
    sudo ls
    sudo rm x
    sudo -u me ls
    sudo -s
    sudo -i
    doas ls
    su
    su -c ls
    su - me -c 'rm x'
    chroot / ls
    strace -o x ls
    strace rm x
    strace -p 1
    parallel ls ::: a
    flock x ls
    flock x -c 'rm y'
    script
    script -c ls
    script -q /dev/null rm x
    busybox rm x
    busybox sh
    busybox nonsense
    command rm x
    command -p rm x
    builtin eval 'rm x'
    eval 'rm x'
    eval rm x
    eval "$x"
    eval $x
    exec rm x
    exec ls
    unshare ls
    env sudo rm x
    timeout 5 env A=1 nice sh -c 'rm x'
""")


@pytest.mark.parametrize("line", SAFE)
def test_a_harmless_program_stays_harmless_inside(line: str) -> None:
    assert is_allowed(line)


@pytest.mark.parametrize("line", HOSTILE)
def test_what_is_inside_is_judged(line: str) -> None:
    assert is_asked(line)


@pytest.mark.parametrize(
    ("line", "verdict", "level"),
    [
        ("sudo chmod 755 x", Verdict.ASK, Level.CRITICAL),
        ("sudo chown me x", Verdict.ASK, Level.CRITICAL),
        ("sudo -n chown me x", Verdict.ASK, Level.CRITICAL),
        ("sudo -u root /bin/chmod 755 x", Verdict.ASK, Level.CRITICAL),
        ("sudo mkfs.ext4 disk.img", Verdict.ASK, Level.CRITICAL),
        ("sudo mkfs.ext4 /dev/sda1", Verdict.BLOCK, Level.CRITICAL),
        ("sudo rm -rf /usr", Verdict.BLOCK, Level.CRITICAL),
        ("env rm -rf x", Verdict.ASK, Level.CRITICAL),
        ("env rm -rf /", Verdict.BLOCK, Level.CRITICAL),
        ("timeout 5 rm -rf ~", Verdict.BLOCK, Level.CRITICAL),
        ("nice -n 3 dd of=/dev/sda", Verdict.BLOCK, Level.CRITICAL),
        ("bash -c 'rm -rf /'", Verdict.BLOCK, Level.CRITICAL),
        ("busybox rm -rf /", Verdict.BLOCK, Level.CRITICAL),
        ("xargs rm -rf", Verdict.ASK, Level.CRITICAL),
        ("eval 'rm -rf /'", Verdict.BLOCK, Level.CRITICAL),
        ("sudo ls", Verdict.ASK, Level.HIGH),
        ("sudo sh -c 'rm x'", Verdict.ASK, Level.CRITICAL),
        ("kill -9 4242", Verdict.ASK, Level.MEDIUM),
    ],
)
def test_how_grave_it_is(line: str, verdict: Verdict, level: Level) -> None:
    found = judged(line)
    assert (found.verdict, found.level) == (verdict, level)


@pytest.mark.parametrize(
    ("line", "script", "shell"),
    [
        ("sh -c 'a b'", "a b", "sh"),
        ("dash -ec 'a b'", "a b", "sh"),
        ("zsh -c 'a b' x", "a b", "zsh"),
        ("fish --command='a b'", "a b", "fish"),
        ("watch a b", "a b", "sh"),
        ("eval a 'b c'", "a b c", "bash"),
        ("su -c 'a b'", "a b", "bash"),
        ('bash -c "$x"', None, "bash"),
        ("xargs -I% sh -c 'a %'", None, "sh"),
    ],
)
def test_scripts_are_handed_on(line: str, script: str | None, shell: str) -> None:
    judge = Judging()
    judge.command(words(line))
    assert judge.scripts == [(script, shell)]


@pytest.mark.parametrize("line", ["sh", "bash -s", "bash -", "sudo bash", "env sh -x", "zsh", "fish"])
def test_a_shell_that_runs_its_input_says_so(line: str) -> None:
    assert any(RUNS_INPUT in one.reason and one.effect is Effect.EXEC for one in judged(line).items)


@pytest.mark.parametrize(
    "name",
    [
        *(
            "PATH",
            "LD_PRELOAD",
            "LD_LIBRARY_PATH",
            "DYLD_INSERT_LIBRARIES",
            "BASH_ENV",
            "ENV",
            "PS4",
            "PROMPT_COMMAND",
            "IFS",
        ),
        *(
            "GIT_EXTERNAL_DIFF",
            "GIT_SSH_COMMAND",
            "GIT_CONFIG_COUNT",
            "GIT_PAGER",
            "PAGER",
            "EDITOR",
            "VISUAL",
            "LESSOPEN",
        ),
        *(
            "LESS",
            "MANPAGER",
            "PYTHONPATH",
            "PYTHONSTARTUP",
            "PERL5OPT",
            "RUBYOPT",
            "NODE_OPTIONS",
            "JAVA_TOOL_OPTIONS",
        ),
        *("RIPGREP_CONFIG_PATH", "GREP_OPTIONS", "TAR_OPTIONS", "AWKPATH", "GCONV_PATH", "HOME", "SHELL", "BROWSER"),
        *(
            "npm_config_script_shell",
            "SSH_ASKPASS",
            "SUDO_ASKPASS",
            "RUSTC_WRAPPER",
            "CC",
            "MAKEFLAGS",
            "XDG_CONFIG_HOME",
        ),
        *("POSIXLY_CORRECT", "BASH_FUNC_ls", "HISTFILE", "ZDOTDIR", "PS1", "CDPATH", "GOFLAGS", "precmd_functions"),
    ],
)
def test_variables_that_run_code(name: str) -> None:
    assert dangerous_variable(name)


@pytest.mark.parametrize(
    "name", ["LANG", "LC_ALL", "TZ", "FOO", "x", "i", "NO_COLOR", "NODE_ENV", "PYTHONUNBUFFERED", "CI", "DEBUG", "file"]
)
def test_variables_that_do_not(name: str) -> None:
    assert dangerous_variable(name) is None


def test_a_pager_that_only_prints_is_harmless() -> None:
    assert dangerous_variable("GIT_PAGER", "cat") is None
    assert dangerous_variable("PAGER", "") is None
    assert dangerous_variable("PAGER", "less")


def test_names_that_only_zsh_ties_to_others() -> None:
    assert dangerous_variable("path", shell="zsh")
    assert dangerous_variable("path", shell="bash") is None
