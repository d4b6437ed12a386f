"""Patterns that may stand for secrets: in the names of directories, in those of files, and in git's own patterns."""

import fnmatch
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermitty.policy import sensitive
from hermitty.policy.secret_patterns import matches, may_reach_secrets

from .judging import HERE, is_allowed, is_asked, lines
from .lines import decide

OWN = replace(HERE, secrets=("/srv/state/own",))

ASKED = lines("""
    for f in ~/.ssh/*; do cat "$f"; done
    for f in ~/.ss?/*; do cat "$f"; done
    cat ~/.ss?/*
    cat ~/.??*/*
    cat ~/.*/*
    cat ~/.*/*.json
    cat ~/.kub?/*
    cat ~/.gnup?/*
    cat ~/.config/g?/hosts.yml
    cat ~/.config/*/hosts.yml
    cat ~/.local/state/hermitt?/*
    cat ~/.local/state/*/audit.jsonl
    cat ~/.loca?/state/hermitty/audit.jsonl
    cat /home/*/.ss?/*
    cat /hom?/me/.ss?/x
    cat $HOME/.ss?/*
    cat ${HOME}/.config/g?/hosts.yml
    cat ~/.confi"g"/g?/hosts.yml
    cat ~/.local/'state'/*/audit.jsonl
    cat $x/.ss?/*
    cat ~/.docker/*
    cat ~/.dock?r/config.json
    cat ~/.cargo/*.toml
    cat ../.ss?/*
    cat vendor/.s?h/*
    cat vendor/.dock?r/conf*.json
    cat ~/Librar?/Keychains/x
    cat /et?/shado?
    cat /etc/wiregu?rd/wg0.conf
    cat /proc/*/*
    cat /pro?/*/envir?n
    cat /srv/stat?/own/x
    cat /srv/*/*/audit.jsonl
    head -n 5 ~/.s[s]h/*
    grep -r token ~/.gnup?/private*
    grep -r token ~/.confi?
    grep -r token /et?
    grep -r token /srv/stat?
    git log -L1,5:.env
    git log -L 1,5:.env
    git log -L:main:.env
    git log -p -- '*.env'
    git log -p -- ':(glob)**/.en?'
    git log -p -- ':(top).env'
    git log -p -- ':(icase).ENV'
    git log -p -- '?env'
    git diff -- '.*'
    git show HEAD -- 'config/*.env'
    git grep x -- '*.env'
    git grep -e x '*.ENV'
    git -C ~/.ssh grep x
    git -C ~ grep --no-index x
    git -C ~ grep --untracked -e x
    git grep x -- ':(top).npmrc'
    git diff-tree -p HEAD -- '*.env'
""")

ALLOWED = lines("""
    cat src/*.py
    ls ~/*
    ls ~/.ss?
    cat ~/project/*/README.md
    cat ~/*/README.md
    cat ~/*/*/README.md
    cat ~/.cache/*/x.txt
    cat .github/*.yml
    cat .git*/config
    cat .docker/*
    cat .*/*
    cat */config.json
    cat */*/config
    cat /var/log/*.log
    cat /etc/*release
    cat /proc/[0-9]*/comm
    cat /srv/other/*
    cat /sr?/other
    cat ~/.c?nf/x
    cat /etc/*/*.conf
    cat /run/*/x.pid
    cat $x/*
    cat "$x"/.github/*
    git log -L1,5:src/x.py
    git log -L :main:src/x.py
    git log -p -- '*.py'
    git log -p -- '*'
    git diff -- 'src/*' ':!*.lock'
    git diff -- ':!.env'
    git diff -- ':(exclude)*.env'
    git diff -- '*.json' '*.yml'
    git diff -- ':/docs'
    git grep '.env' -- '*.md'
    git grep '*.env'
    git grep 'TODO: .env' src
    git grep --no-index x
    git -C ~ grep x
    git grep x -- ':(top)src'
    git show 'HEAD:src/x.py'
""")


@pytest.mark.parametrize("line", ASKED)
def test_a_pattern_that_may_be_a_secret_is_asked_about(line: str) -> None:
    assert is_asked(line, OWN)


@pytest.mark.parametrize("line", ALLOWED)
def test_other_patterns_need_no_question(line: str) -> None:
    assert is_allowed(line, OWN)


@pytest.mark.parametrize(
    ("line", "directory"),
    [
        ("grep -r x", "/home/me/.ssh"),
        ("grep -R -e x", "/home/me"),
        ("rg x", "/home/me/.ssh"),
        ("rg --files", "/srv/state/own"),
        ("ag x", "/home/me/.aws"),
        ("ack -C x", "/home/me/.gnupg"),
    ],
)
def test_a_search_without_a_path_is_one_of_the_directory(line: str, directory: str) -> None:
    assert is_asked(line, replace(OWN, cwd=directory))
    assert is_allowed(line, OWN)


@pytest.mark.parametrize("line", ["cat ~/(.ssh)/x", "cat *(D)"])
def test_groups_and_qualifiers_of_zsh_are_patterns(line: str) -> None:
    assert decide(line, "zsh").decision == "ask"


@pytest.mark.parametrize("line", ["cat *(.)", "ls *(D)"])
def test_other_groups_of_zsh_need_no_question(line: str) -> None:
    assert decide(line, "zsh").decision == "allow"


@given(st.sampled_from(sensitive.SECRET_DIRECTORIES), st.data())
def test_a_question_mark_for_any_letter_hides_no_directory(place: str, data: st.DataObject) -> None:
    letters = [at for at, char in enumerate(place) if char.isalpha()]
    at = data.draw(st.sampled_from(letters))
    pattern = f"{place[:at]}?{place[at + 1 :]}/x"
    assert may_reach_secrets(pattern, None, ())
    assert may_reach_secrets(pattern.replace("~", "/home/me"), "/home/me", ())


@given(st.text(alphabet="ab.*?", max_size=8), st.text(alphabet="ab.", min_size=1, max_size=6))
def test_a_component_stands_for_the_same_names_as_in_a_shell(pattern: str, name: str) -> None:
    is_hidden = name.startswith(".") and not pattern.startswith(".")
    assert matches(pattern, name) == (fnmatch.fnmatchcase(name, pattern) and not is_hidden)


def test_many_stars_are_no_work() -> None:
    assert not matches("." + "*?" * 20_000 + "z", ".config")
    assert not may_reach_secrets("/".join([".a?*b*?*c*"] * 5_000), "/home/me", ())


@given(st.text(alphabet="ab.*?[]{}/~!", max_size=20))
def test_any_text_has_an_answer(text: str) -> None:
    assert may_reach_secrets(text, "/home/me", ("/a/b",)) in (True, False)
