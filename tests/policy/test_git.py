"""git: what reads runs without a question; what writes, runs or sends is asked about, with its level."""

import shutil
import subprocess
from pathlib import Path

import pytest

from hermitty.policy.arguments import Arg
from hermitty.policy.effects import Effect, Level, Verdict
from hermitty.policy.programs import git_tables

from .judging import HERE, Judging, is_allowed, is_asked, judged, lines

LOW, MEDIUM, HIGH, CRITICAL = Level.LOW, Level.MEDIUM, Level.HIGH, Level.CRITICAL

SAFE = lines(r"""
    git
    git --version
    git -v
    git --help
    git help
    git help log
    git help -a
    git log --help
    git commit --help
    git push -h
    git --exec-path
    git --html-path
    git status
    git status -s
    git status -sb
    git status --porcelain=v2 --branch
    git status -uno src
    git status --ignored
    git status $x
    git diff
    git diff HEAD~2
    git diff --name-status HEAD~2
    git diff --stat main...feature
    git diff --cached
    git diff --staged -- src/x.py
    git diff --no-index a b
    git diff -U5 -w a b
    git diff -M90% --diff-filter=AM
    git diff --diff-filter AM
    git diff --word-diff=color
    git diff --color-words
    git diff HEAD -- "$f"
    git diff -- *.py
    git diff ./"$x"
    git diff -S foo
    git diff -Sfoo -Gbar
    git diff --no-ext-diff
    git log
    git log -3 --stat
    git log -n 5
    git log -n5 --oneline
    git log --oneline --graph --all
    git log --pretty=format:'%h %an %s' -10
    git log --format=%H
    git log --since='2 weeks ago' --until yesterday
    git log --author me --grep fix -i
    git log -p -- README.md
    git log main..HEAD
    git log -L 1,5:README.md
    git log --follow x
    git log --max-count=3 --no-merges --first-parent
    git log --decorate=short --date=iso
    git log --diff-merges=on
    git log -S 'rm -rf' --oneline
    git log --reverse --topo-order --
    git show
    git show HEAD
    git show --name-only HEAD
    git show HEAD:README.md
    git show HEAD~3:src/main.py
    git show stash@{0}
    git show --stat --oneline abc123
    git whatchanged -3
    git shortlog -sn
    git shortlog -sne --all
    git shortlog -n HEAD
    git blame README.md
    git blame -L 10,20 src/x.py
    git blame -w -C -C -M HEAD -- x
    git annotate x
    git branch
    git branch -a
    git branch -vv
    git branch -r --sort=-committerdate
    git branch --list
    git branch --list 'feature/*'
    git branch --list feature/*
    git branch --show-current
    git branch --contains HEAD
    git branch --contains "$x"
    git branch --merged main
    git branch --no-merged
    git branch --format='%(refname:short)'
    git branch -a --column
    git tag
    git tag -l
    git tag -l 'v1.*'
    git tag --list --sort=-v:refname
    git tag -n
    git tag -n5
    git tag --contains abc
    git tag --points-at HEAD
    git remote
    git remote -v
    git remote get-url origin
    git remote show
    git remote show -n origin
    git rev-parse HEAD
    git rev-parse --show-toplevel
    git rev-parse --abbrev-ref HEAD
    git rev-parse --short "$x"
    git rev-list --count HEAD
    git rev-list --all --max-count 3
    git rev-list --objects HEAD
    git ls-files
    git ls-files -m -o --exclude-standard
    git ls-files '*.py'
    git ls-files $x
    git ls-tree -r HEAD --name-only
    git ls-tree -r HEAD
    git describe --tags
    git describe --always --dirty
    git cat-file -p HEAD
    git cat-file -t abc
    git cat-file -p HEAD:README.md
    git cat-file --batch-check
    git grep foo
    git grep -n foo -- src
    git grep -in 'foo bar' HEAD
    git grep -e foo --and -e bar
    git grep -C3 foo
    git grep -3 foo
    git grep -l --untracked TODO
    git config --list
    git config -l --show-origin
    git config --get user.name
    git config --get-all remote.origin.fetch
    git config --get-regexp 'alias.*'
    git config user.email
    git config --global user.name
    git config get user.name
    git config list
    git stash list
    git stash list --stat
    git stash show
    git stash show -p stash@{1}
    git worktree list
    git worktree list --porcelain
    git reflog
    git reflog -5
    git reflog show main
    git reflog --date=iso
    git for-each-ref --format='%(refname)' refs/heads
    git for-each-ref --sort=-committerdate --count=5
    git merge-base main HEAD
    git merge-base --is-ancestor a b
    git name-rev HEAD
    git show-ref --heads
    git show-branch
    git symbolic-ref HEAD
    git symbolic-ref --short HEAD
    git count-objects -vH
    git fsck
    git fsck --full --no-dangling
    git check-ignore -v x
    git check-attr -a x
    git cherry -v main
    git diff-tree --no-commit-id --name-only -r HEAD
    git diff-index --quiet HEAD
    git range-diff a...b
    git hash-object x
    git verify-pack -v x.idx
    git var GIT_EDITOR
    git version
    git submodule
    git submodule status
    git submodule status --recursive
    git sparse-checkout list
    git notes list
    git notes show HEAD
    git bisect log
    git clean -n
    git clean -nd
    git clean -ndx src
    git clean --dry-run
    git rm -n x
    git rm --dry-run -r x
    git apply --stat x.patch
    git apply --check x.patch
    git ls-remote --help
    git --no-pager log -3
    git -P diff
    git -p log
    git --no-optional-locks status
    git -C src status
    git -C ../other log -1
    git -C "$dir" status
    git -C ~/x rev-parse HEAD
    git -c color.ui=never diff
    git -c core.quotepath=off ls-files
    git -c core.pager=cat log
    git -c core.pager= log
    git -c pager.log=false log
    git -c log.showSignature=false log
    git -c diff.context=1 diff
    git -c user.name=x log
    git --git-dir=.git status
    git --git-dir .git --work-tree . status
    /usr/bin/git status
    env GIT_PAGER=cat git log
    timeout 5 git status
    xargs git ls-files
    xargs git log --oneline --
""")

HOSTILE = lines(r"""
    git log --output=x
    git log -1 --output=log.txt
    git log --output x
    git log --outpu=x
    git log -n 1 --output=x
    git log --format --output=x
    git log --format=%h --output=x
    git log --branches --output=x
    git log --pretty --output=x
    git log --no-walk --output=x
    git log --decorate --output=x
    git log HEAD --output=x
    git diff --output=x
    git diff --outp x
    git diff --stat --output=x
    git diff -M --output=x
    git diff --color-words --output=x
    git diff --relative --output=x
    git show --output=x
    git shortlog -n --output=x
    git shortlog -sn --output=x
    git shortlog --output=x
    git blame --output=x f
    git blame -n --output=x f
    git blame -l --output=x f
    git rev-list --output=x HEAD
    git stash list --output=x
    git stash show --output=x
    git reflog --output=x
    git reflog show --output=x
    git diff-tree --output=x HEAD
    git whatchanged --output=x
    git range-diff --output=x a...b
    git diff --ext-diff
    git log -p --ext-diff
    git log --ext
    git show --textconv
    git log --textc
    git log --show-signature
    git log --format='%G?'
    git log --pretty=format:%GK
    git log --format="$x"
    git cat-file --textconv HEAD:x
    git cat-file --filters HEAD:x
    git grep -O foo
    git grep -Oless foo
    git grep -nO foo
    git grep --open-files-in-pager=./x foo
    git grep --open foo
    git grep --textconv foo
    git grep $x
    git grep foo $x
    git grep "$x"
    git ls-remote
    git ls-remote origin
    git ls-remote --upload-pack=./x .
    git ls-remote --upl=./x .
    git ls-remote --exec ./x .
    git help -w log
    git help --web log
    git log $x
    git log "$x"
    git log $(x)
    git log -n $x
    git diff $x
    git diff *
    git show "$x"
    git show HEAD:.env
    git show HEAD:config/.env.local
    git show :.env
    git show :0:.env
    git show HEAD:server.key
    git cat-file -p HEAD:id_rsa
    git diff -- .env
    git diff --no-index /dev/null ~/.ssh/id_rsa
    git diff --no-index /etc/shadow x
    git log -p -- .env
    git blame .env
    git blame --contents ~/.ssh/id_rsa x
    git grep -f ~/.ssh/id_rsa
    git diff -O ~/.ssh/id_rsa
    git hash-object -w x
    git fsck --lost-found
    git branch new
    git branch -v new
    git branch -a new
    git branch new main
    git branch -d x
    git branch -D x
    git branch -m a b
    git branch -M b
    git branch -f main HEAD
    git branch --list -D x
    git shortlog --committer --output=x
    git branch --contains $x
    git branch $x
    git branch "$x"
    git branch -u origin/x
    git branch --unset-upstream
    git branch --edit-description
    git branch --set-upstream-to=origin/x
    git branch --dele x
    git tag v1
    git tag -a v1 -m x
    git tag -d v1
    git tag -f v1
    git tag -v v1
    git tag -s v1
    git tag --list -d v1
    git tag "$x"
    git tag --sort=x v1
    git remote add evil https://example.org/x
    git remote set-url origin x
    git remote remove origin
    git remote -v update
    git remote update
    git remote prune origin
    git remote show origin
    git remote $x
    git config user.name me
    git config core.pager ./x
    git config --global alias.x '!rm x'
    git config core.hooksPath hooks
    git config --unset user.name
    git config --add a.b c
    git config --edit
    git config -e
    git config set core.editor x
    git config unset a.b
    git config edit
    git config --replace-all a.b c
    git config --remove-section a
    git config "$x" y
    git config $x
    git config --get $x
    git config -f ~/.netrc -l
    git config --list --file ~/.ssh/id_rsa
    git stash
    git stash push
    git stash pop
    git stash drop
    git stash clear
    git stash -u
    git stash $x
    git reflog expire --all
    git reflog delete x
    git reflog $x
    git symbolic-ref HEAD refs/heads/x
    git symbolic-ref -d HEAD
    git symbolic-ref "$x"
    git worktree add ../x
    git worktree remove x
    git worktree prune
    git submodule update --init
    git submodule foreach ls
    git submodule add x
    git bisect run ./x
    git bisect start
    git clean
    git clean -f
    git clean -i
    git rm x
    git rm --cached x
    git mv a b
    git apply x.patch
    git apply --stat --apply x.patch
    git am x
    git archive HEAD
    git archive -o x HEAD
    git format-patch -1
    git bundle create x HEAD
    git verify-commit HEAD
    git verify-tag v1
    git notes add -m x
    git difftool
    git mergetool
    git gui
    git instaweb
    git credential fill
    git credential-store get
    git send-email x
    git daemon
    git svn fetch
    git lfs pull
    git frobnicate
    git frobnicate --help
    git co
    git $x
    git "$x" status
    git -c core.pager='sh -c id' log
    git -c core.pager=./x log
    git -c pager.log=./x log
    git -c alias.log='!id' log
    git -c alias.x='!id' x
    git -c core.fsmonitor=./x status
    git -c diff.external=./x diff
    git -c core.sshCommand=./x status
    git -c core.editor=x log
    git -c core.hooksPath=x status
    git -c core.attributesFile=x diff
    git -c include.path=x status
    git -c safe.directory='*' status
    git -c gpg.program=./x log
    git -c protocol.ext.allow=always status
    git -c diff.foo.textconv=./x diff
    git -c diff.foo.command=./x diff
    git -c filter.x.clean=./x status
    git -c color.ui status -c x
    git -c "$x" status
    git -c $x status
    git -ccore.pager=./x log
    git --config-env=core.pager=X log
    git --config-env core.pager=X log
    git --exec-path=./x status
    git --exec-path=. status
    git --git-dir=/tmp/evil status
    git --git-dir evil.git log
    git --git-dir="$x" log
    git --work-tree=/ status
    git --bare log
    git --namespace=x log
    git -C /tmp/evil status
    git -C /tmp/evil/sub log
    git -C $x status
    git -C src log --output=x
    git --nonsense status
    git log --nonsense
    git merge-tree a b
    git interpret-trailers --in-place x
    git checkout-index -a
    git update-ref HEAD x
    git read-tree HEAD
    xargs git log
    xargs git show
    xargs git
    env GIT_PAGER=./x git log
    env GIT_EXTERNAL_DIFF=./x git diff
    sudo git status
    ./git status
""")

LEVELS = [
    ("git add .", LOW, Effect.WRITE),
    ("git add .env", HIGH, Effect.CREDENTIALS),
    ("git add -A", LOW, Effect.WRITE),
    ("git commit -m x", LOW, Effect.WRITE),
    ("git commit --amend --no-edit", LOW, Effect.WRITE),
    ("git commit -am 'never git push --force'", LOW, Effect.WRITE),
    ("git merge x", LOW, Effect.WRITE),
    ("git rebase main", MEDIUM, Effect.WRITE),
    ("git rebase -x 'rm x' main", HIGH, Effect.EXEC),
    ("git rebase --exec make main", HIGH, Effect.EXEC),
    ("git cherry-pick abc", LOW, Effect.WRITE),
    ("git revert HEAD", LOW, Effect.WRITE),
    ("git reset", LOW, Effect.WRITE),
    ("git reset HEAD~1", LOW, Effect.WRITE),
    ("git reset --soft HEAD~1", LOW, Effect.WRITE),
    ("git reset --hard", HIGH, Effect.DELETE),
    ("git reset --hard HEAD", HIGH, Effect.DELETE),
    ("git reset --har HEAD~3", HIGH, Effect.DELETE),
    ("git reset $x", HIGH, Effect.DELETE),
    ("git -C x reset --hard", HIGH, Effect.DELETE),
    ("git checkout main", LOW, Effect.WRITE),
    ("git checkout -b new", LOW, Effect.WRITE),
    ("git checkout -b new origin/main", LOW, Effect.WRITE),
    ("git checkout -- .", HIGH, Effect.DELETE),
    ("git checkout .", HIGH, Effect.DELETE),
    ("git checkout -- src/x.py", HIGH, Effect.DELETE),
    ("git checkout HEAD x", HIGH, Effect.DELETE),
    ("git checkout -f main", HIGH, Effect.DELETE),
    ("git checkout src/x.py", MEDIUM, Effect.DELETE),
    ("git switch main", LOW, Effect.WRITE),
    ("git switch -c new", LOW, Effect.WRITE),
    ("git switch --discard-changes main", HIGH, Effect.DELETE),
    ("git restore x", HIGH, Effect.DELETE),
    ("git restore --staged x", LOW, Effect.WRITE),
    ("git restore -S x", LOW, Effect.WRITE),
    ("git restore --staged --worktree x", HIGH, Effect.DELETE),
    ("git restore -SW x", HIGH, Effect.DELETE),
    ("git clean -f", HIGH, Effect.DELETE),
    ("git clean -fdx", HIGH, Effect.DELETE),
    ("git clean -d --force", HIGH, Effect.DELETE),
    ("git rm x", MEDIUM, Effect.DELETE),
    ("git rm -rf src", HIGH, Effect.DELETE),
    ("git stash drop", HIGH, Effect.DELETE),
    ("git stash clear", HIGH, Effect.DELETE),
    ("git stash pop", LOW, Effect.WRITE),
    ("git branch new", LOW, Effect.WRITE),
    ("git branch -d x", LOW, Effect.WRITE),
    ("git branch -D x", HIGH, Effect.DELETE),
    ("git tag v1", LOW, Effect.WRITE),
    ("git push", MEDIUM, Effect.NETWORK),
    ("git push origin main", MEDIUM, Effect.NETWORK),
    ("git push -u origin feature", MEDIUM, Effect.NETWORK),
    ("git push --dry-run", MEDIUM, Effect.NETWORK),
    ("git push --tags", MEDIUM, Effect.NETWORK),
    ("git push --force", HIGH, Effect.DELETE),
    ("git push -f", HIGH, Effect.DELETE),
    ("git push -fu origin feature", HIGH, Effect.DELETE),
    ("git push origin feature --force", HIGH, Effect.DELETE),
    ("git push --force-with-lease origin feature", HIGH, Effect.DELETE),
    ("git push origin +feature", HIGH, Effect.DELETE),
    ("git push $x", HIGH, Effect.DELETE),
    ("git push --force origin main", CRITICAL, Effect.DELETE),
    ("git push -f origin master", CRITICAL, Effect.DELETE),
    ("git push origin +main", CRITICAL, Effect.DELETE),
    ("git push origin +HEAD:main", CRITICAL, Effect.DELETE),
    ("git push --force origin HEAD:refs/heads/main", CRITICAL, Effect.DELETE),
    ("git push --forc origin main", CRITICAL, Effect.DELETE),
    ("git push --mirror", CRITICAL, Effect.DELETE),
    ("git push --delete origin x", CRITICAL, Effect.DELETE),
    ("git push -d origin x", CRITICAL, Effect.DELETE),
    ("git push origin :x", CRITICAL, Effect.DELETE),
    ("git push origin --delete main", CRITICAL, Effect.DELETE),
    ("git push --receive-pack=./x origin", HIGH, Effect.EXEC),
    ("git fetch", LOW, Effect.NETWORK),
    ("git fetch --upload-pack=./x .", HIGH, Effect.EXEC),
    ("git pull", MEDIUM, Effect.NETWORK),
    ("git clone https://example.org/x", MEDIUM, Effect.NETWORK),
    ("git clone -c core.pager=x https://example.org/x", HIGH, Effect.EXEC),
    ("git clone 'ext::sh -c id' x", HIGH, Effect.EXEC),
    ("git clone https://example.org/x ~/.ssh", HIGH, Effect.WRITE),
    ("git filter-branch --force x", HIGH, Effect.EXEC),
    ("git gc", MEDIUM, Effect.WRITE),
    ("git prune", HIGH, Effect.DELETE),
    ("git reflog expire --expire=now --all", HIGH, Effect.DELETE),
    ("git config user.name me", LOW, Effect.WRITE),
    ("git config core.pager ./x", HIGH, Effect.EXEC),
    ("git config --global alias.st status", HIGH, Effect.EXEC),
    ("git submodule foreach 'rm x'", HIGH, Effect.EXEC),
    ("git bisect run ./x", HIGH, Effect.EXEC),
    ("git bisect run rm -rf x", CRITICAL, Effect.DELETE),
    ("git worktree remove x", MEDIUM, Effect.DELETE),
    ("git worktree remove --force x", HIGH, Effect.DELETE),
    ("git credential fill", HIGH, Effect.CREDENTIALS),
    ("git -c core.pager=./x log", HIGH, Effect.EXEC),
    ("git --exec-path=. log", HIGH, Effect.EXEC),
    ("git log --output=/etc/x", HIGH, Effect.WRITE),
]


@pytest.mark.parametrize("line", SAFE)
def test_git_that_reads_runs_without_a_question(line: str) -> None:
    assert is_allowed(line)


@pytest.mark.parametrize("line", HOSTILE)
def test_git_that_does_more_is_asked_about(line: str) -> None:
    assert is_asked(line)


@pytest.mark.parametrize(("line", "level", "effect"), LEVELS)
def test_a_change_has_its_level(line: str, level: Level, effect: Effect) -> None:
    found = judged(line)
    assert (found.verdict, found.level) == (Verdict.ASK, level), [one.reason for one in found.items]
    assert effect in {one.effect for one in found.items if one.level is level and one.verdict is Verdict.ASK}


def test_another_directory_counts_for_paths() -> None:
    [finding] = [one for one in judged("git -C sub log --output=x").items if one.effect is Effect.WRITE]
    assert finding.path == "/home/me/work/sub/x"


def test_the_root_is_not_cleaned() -> None:
    assert judged("git clean -fd /").verdict is Verdict.BLOCK
    assert judged("git -C / rm -rf .").verdict is Verdict.BLOCK


# --- against the real program

_GIT = shutil.which("git")
_SETTINGS = {"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": "/dev/null", "PATH": "/usr/bin:/bin", "LC_ALL": "C"}
_WITH_OUTPUT = {
    "log": git_tables.LOG,
    "diff": git_tables.DIFF,
    "shortlog": git_tables.SHORTLOG,
    "rev-list": git_tables.REV_LIST,
    "blame": git_tables.BLAME,
    "diff-tree": git_tables.DIFF_TREE,
    "range-diff": git_tables.RANGE_DIFF,
}


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository with two commits."""
    if _GIT is None:
        pytest.skip("git is not installed")
    path = tmp_path_factory.mktemp("repository")
    _git(path, "init", "-q")
    for text in ("one\n", "two\n"):
        (path / "f").write_text(text)
        _git(path, "add", "f")
        _git(path, "-c", "user.name=n", "-c", "user.email=e@example.org", "commit", "-qm", text)
    return path


def _git(path: Path, *args: str) -> None:
    assert _GIT
    subprocess.run(
        [_GIT, "--no-pager", *args],
        cwd=path,
        env=_SETTINGS | {"HOME": str(path)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
    )


@pytest.mark.parametrize("verb", _WITH_OUTPUT)
def test_an_option_with_a_value_takes_the_next_word_in_the_real_git(verb: str, repository: Path) -> None:
    grammar = _WITH_OUTPUT[verb]
    trap = repository / "trap"
    for name, option in grammar.table.items():
        if option.arity == ":" and option.name != "--output":
            trap.unlink(missing_ok=True)
            _git(repository, verb, name, "--output=trap")
            assert not trap.exists(), f"git {verb} {name} does not take a value"


@pytest.mark.parametrize("verb", _WITH_OUTPUT)
def test_an_option_without_a_value_leaves_the_next_word_alone_in_the_real_git(verb: str, repository: Path) -> None:
    trap = repository / "trap"
    for name, option in _WITH_OUTPUT[verb].table.items():
        if option.arity != ":":
            trap.unlink(missing_ok=True)
            _git(repository, verb, name, "--", "--output=trap")
            assert not trap.exists(), f"git {verb} {name} takes a value"


@pytest.mark.parametrize("verb", ["log", "diff", "show", "shortlog", "rev-list", "diff-tree", "stash list"])
def test_what_the_real_git_writes_is_asked_about(verb: str, repository: Path) -> None:
    for words in (["--output=written"], ["--outpu=written"], ["--output", "written"]):
        written = repository / "written"
        written.unlink(missing_ok=True)
        _git(repository, *verb.split(), *words, "HEAD")
        if written.exists():
            assert is_asked(f"git {verb} {' '.join(words)} HEAD")


def test_words_that_may_become_options_are_asked_about() -> None:
    unknown = Arg(None, "$x", "", is_many=True)
    for verb in ("log", "diff", "show", "grep", "blame", "branch", "tag", "config", "shortlog", "stash", "remote"):
        found = Judging(HERE).command([Arg.literal("git"), Arg.literal(verb), unknown])
        assert any(one.verdict is Verdict.ASK for one in found), verb
