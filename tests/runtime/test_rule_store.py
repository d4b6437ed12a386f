"""Where rules are kept: who may say what, what is read again, and what a bad file can do."""

import multiprocessing
import os
import stat
import threading
from pathlib import Path

import pytest

from hermitty.errors import InvalidRequest, InvalidRule, RuleNotFound
from hermitty.policy.rule import Action, Layer, Rule, Scope, words_of
from hermitty.runtime.places import Places
from hermitty.runtime.rules import RuleStore, problems_of_file, user_rules_file

NOW = 1_900_000_000.0


def rule(decision: str, command: str, **more: object) -> Rule:
    return Rule(Action(decision), words_of(command), **more)  # type: ignore[arg-type]


@pytest.fixture
def told() -> list[str]:
    return []


@pytest.fixture
def root(tmp_path: Path) -> str:
    """The root of a workspace."""
    (tmp_path / "proj").mkdir()
    return str(tmp_path / "proj")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """The user's file; not there yet."""
    return tmp_path / "config" / "rules.toml"


@pytest.fixture
def store(file: Path, tmp_path: Path, told: list[str]) -> RuleStore:
    return RuleStore(user_file=file, workspaces=tmp_path / "state" / "rules", tell=told.append, clock=lambda: NOW)


def patterns(store: RuleStore, *, session: str | None = None, workspace: str | None = None) -> list[str]:
    return [
        f"{each.layer.label}: {each.decision} {each.pattern}"
        for each in store.listed(session=session, workspace=workspace)
    ]


def written(file: Path, text: str) -> None:
    file.parent.mkdir(mode=0o700, exist_ok=True)
    file.write_text(text)


def test_every_layer_counts_in_its_place(store: RuleStore, file: Path, root: str) -> None:
    Path(root, ".hermitty.toml").write_text('[[rule]]\ndecision = "deny"\ncommand = "deploy"\n')
    written(file, 'allow = ["git"]\n')
    store.add(rule("allow", "npm"), Scope.WORKSPACE, workspace=root)
    store.add(rule("ask", "make"), Scope.SESSION, session="fix")
    assert patterns(store) == ["user: allow git"]
    assert patterns(store, session="fix", workspace=root) == [
        "user: allow git",
        "workspace: deny deploy",
        "workspace: allow npm",
        "session: ask make",
    ]
    assert patterns(store, session="other") == ["user: allow git"]
    assert patterns(store, workspace=root + "/sub") == ["user: allow git"]


def test_what_is_added_is_kept_for_its_owner_only(
    store: RuleStore, file: Path, tmp_path: Path, root: str, told: list[str]
) -> None:
    kept = store.add(rule("deny", "git push", reason='because "x"\n'), Scope.USER)
    assert kept.id.startswith("r_")
    assert (kept.layer, kept.origin) == (Layer.USER, f"{file}:1")
    store.add(rule("allow", "npm"), Scope.WORKSPACE, workspace=root)
    for path in (file, *(tmp_path / "state" / "rules").glob("*.toml")):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    again = RuleStore(user_file=file, workspaces=tmp_path / "state" / "rules", tell=told.append)
    assert again.listed(workspace=root) == store.listed(workspace=root)
    assert told == []


def test_comments_and_other_rules_stay_when_one_comes_or_goes(store: RuleStore, file: Path) -> None:
    written(file, '# mine\nallow = ["git"]  # yes')
    kept = store.add(rule("deny", "npm publish"), Scope.USER)
    assert file.read_text().startswith('# mine\nallow = ["git"]  # yes\n\n[[rule]]\n')
    assert store.remove(kept.id) == kept
    assert file.read_text().strip() == '# mine\nallow = ["git"]  # yes'
    assert patterns(store) == ["user: allow git"]


def test_removing_finds_a_rule_wherever_it_is(store: RuleStore, root: str) -> None:
    kept = [
        store.add(rule("allow", "a"), Scope.USER),
        store.add(rule("allow", "b"), Scope.WORKSPACE, workspace=root),
        store.add(rule("allow", "c"), Scope.SESSION, session="fix"),
    ]
    for each in kept:
        assert store.remove(each.id, session="fix", workspace=root).pattern == each.pattern
    assert store.listed(session="fix", workspace=root) == []
    with pytest.raises(RuleNotFound, match="no rule 'r_x'; there are: none"):
        store.remove("r_x")


def test_a_rule_of_a_list_or_a_repository_is_not_removed(store: RuleStore, file: Path, root: str) -> None:
    written(file, 'allow = ["git"]\n')
    Path(root, ".hermitty.toml").write_text('[[rule]]\nid = "theirs"\ndecision = "deny"\ncommand = "deploy"\n')
    (listed,) = store.listed()
    with pytest.raises(InvalidRule, match=r"stands in a list at .*:1"):
        store.remove(listed.id)
    with pytest.raises(RuleNotFound):
        store.remove("theirs", workspace=root)


def test_a_session_ends_with_its_rules(store: RuleStore) -> None:
    store.add(rule("allow", "npm"), Scope.SESSION, session="fix")
    store.add(rule("allow", "make"), Scope.SESSION, session="other")
    store.forget_session("fix")
    store.forget_session("unknown")
    assert patterns(store, session="fix") == []
    assert patterns(store, session="other") == ["session: allow make"]


def test_an_expired_rule_is_not_listed(store: RuleStore) -> None:
    store.add(rule("allow", "npm"), Scope.USER, expires_in_s=60)
    store.add(rule("allow", "make"), Scope.USER, expires_in_s=-1)
    assert patterns(store) == ["user: allow npm"]
    assert store.listed()[0].expires_at == NOW + 60


@pytest.mark.parametrize(
    ("given", "scope", "problem"),
    [
        (rule("allow", "npm"), Scope.ONCE, "counts once"),
        (rule("allow", "npm"), Scope.SESSION, "needs the session"),
        (rule("allow", "npm"), Scope.WORKSPACE, "needs the workspace"),
        (rule("allow", "npm", paths="x"), Scope.USER, "absolute directory"),
        (rule("allow", "npm", examples=("make",)), Scope.USER, "does not allow its example 'make'"),
        (rule("deny", "npm", counter_examples=("npm i",)), Scope.USER, "would deny its counter-example 'npm i'"),
    ],
)
def test_what_makes_no_sense_is_not_kept(store: RuleStore, file: Path, given: Rule, scope: Scope, problem: str) -> None:
    with pytest.raises(InvalidRule, match=problem):
        store.add(given, scope)
    assert not file.exists()


def test_an_id_is_used_once(store: RuleStore) -> None:
    store.add(rule("allow", "npm", id="mine"), Scope.USER)
    with pytest.raises(InvalidRule, match="there is a rule mine already"):
        store.add(rule("allow", "make", id="mine"), Scope.USER)


def test_without_files_there_is_no_place_for_rules_of_the_user(tmp_path: Path) -> None:
    places = Places(Path(os.devnull), tmp_path / "state")
    assert user_rules_file(places) is None
    assert user_rules_file(Places(tmp_path / "x.toml", tmp_path)) == tmp_path / "rules.toml"
    with pytest.raises(InvalidRequest, match="no place for rules"):
        RuleStore.at(places).add(rule("allow", "npm"), Scope.USER)
    assert RuleStore.at(places).listed() == []


def test_a_changed_file_counts_from_the_next_look_on(store: RuleStore, file: Path, told: list[str]) -> None:
    assert patterns(store) == []
    written(file, 'allow = ["git"]\n')
    assert patterns(store) == ["user: allow git"]
    written(file, 'deny  = ["git"]\n')  # as long as before, in the same tick of the clock
    assert patterns(store) == ["user: deny git"]
    file.unlink()
    assert patterns(store) == []
    assert told == []


def test_the_same_rules_are_not_put_together_again(store: RuleStore, file: Path) -> None:
    written(file, 'allow = ["git"]\n')
    first = store.rules(session="fix")
    assert store.rules(session="fix") is first
    store.add(rule("allow", "npm"), Scope.SESSION, session="fix")
    assert store.rules(session="fix") is not first


def test_a_bad_rule_is_told_once_with_file_and_line_and_the_others_count(
    store: RuleStore, file: Path, told: list[str]
) -> None:
    written(
        file,
        'allow = ["git"]\n\n[[rule]]\ndecision = "allow"\n\n[[rule]]\ndecision = "deny"\ncommand = "rm"\n'
        'examples = ["rmdir x"]\n\n[[rule]]\ndecision = "ask"\ncommand = "make"\n',
    )
    assert patterns(store) == ["user: allow git", "user: ask make"]
    assert patterns(store) == ["user: allow git", "user: ask make"]
    expected = [
        f"{file}:3: the rule has no command",
        f"{file}:6: the rule does not deny its example 'rmdir x'; the rule is not in use",
    ]
    assert told == expected
    assert store.problems() == expected
    written(file, 'allow = ["git"]\n')
    assert store.problems() == []


def test_a_repository_cannot_allow_anything(store: RuleStore, root: str, told: list[str]) -> None:
    theirs = Path(root, ".hermitty.toml")
    theirs.write_text(
        'allow = ["*"]\n\n[terminal]\ncols = 100\n\n[[rule]]\ndecision = "allow"\ncommand = "npm"\n\n'
        '[[rule]]\ndecision = "deny"\ncommand = "deploy"\n\n[[rule]]\ndecision = "ask"\ncommand = "ls"\n'
    )
    assert patterns(store, workspace=root) == ["workspace: deny deploy", "workspace: ask ls"]
    text = "a repository cannot allow anything; put the rule into your own file"
    assert told == [f"{theirs}:1: {text}", f"{theirs}:6: {text}"]


def test_a_link_in_a_repository_is_not_followed(store: RuleStore, root: str, tmp_path: Path, told: list[str]) -> None:
    (tmp_path / "secret.toml").write_text('deny = ["ls"]\n')
    Path(root, ".hermitty.toml").symlink_to(tmp_path / "secret.toml")
    assert patterns(store, workspace=root) == []
    assert "is a link" in told[0]


def test_the_rules_of_a_workspace_do_not_come_from_its_directory(store: RuleStore, root: str, tmp_path: Path) -> None:
    store.add(rule("allow", "npm"), Scope.WORKSPACE, workspace=root)
    assert list(Path(root).iterdir()) == []
    (kept,) = (tmp_path / "state" / "rules").glob("*.toml")
    assert kept.read_text().startswith(f'workspace = "{root}"\n\n[[rule]]\n')
    # Another name of the same place.
    (tmp_path / "link").symlink_to(root)
    assert patterns(store, workspace=str(tmp_path / "link")) == ["workspace: allow npm"]


@pytest.mark.parametrize("kind", ["bytes", "huge", "directory", "pipe"])
def test_a_file_that_cannot_be_read_leaves_the_rules_from_before(
    store: RuleStore, file: Path, told: list[str], kind: str
) -> None:
    written(file, 'deny = ["rm"]\n')
    assert patterns(store) == ["user: deny rm"]
    file.unlink()
    match kind:
        case "bytes":
            file.write_bytes(b"# ok\n\xff\n")
        case "huge":
            file.write_bytes(b"#" * (1024 * 1024 + 1))
        case "directory":
            file.mkdir()
        case "pipe":
            os.mkfifo(file)
    assert patterns(store) == ["user: deny rm"]
    assert patterns(store) == ["user: deny rm"]
    (problem,) = told
    assert problem.startswith(str(file))
    assert problem.endswith("the rules from before stay in use")


def test_a_file_that_cannot_be_read_is_not_changed(store: RuleStore, file: Path) -> None:
    file.parent.mkdir(mode=0o700)
    file.write_bytes(b"\xff")
    with pytest.raises(Exception, match="not UTF-8"):
        store.add(rule("allow", "npm"), Scope.USER)
    assert file.read_bytes() == b"\xff"
    assert [each.name for each in file.parent.iterdir() if not each.name.endswith(".lock")] == ["rules.toml"]


def test_a_link_of_the_user_stays_a_link(store: RuleStore, file: Path, tmp_path: Path) -> None:
    file.parent.mkdir(mode=0o700)
    (tmp_path / "dotfiles").mkdir(mode=0o700)
    file.symlink_to(tmp_path / "dotfiles" / "rules.toml")
    store.add(rule("allow", "npm"), Scope.USER)
    assert file.is_symlink()
    assert patterns(store) == ["user: allow npm"]


def test_threads_lose_no_rule(store: RuleStore) -> None:
    def add(name: str) -> None:
        for number in range(5):
            store.add(rule("allow", f"{name}{number}"), Scope.USER)

    threads = [threading.Thread(target=add, args=(name,)) for name in "abcd"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(store.listed()) == 20


def _add_rules(file: str, name: str) -> None:
    store = RuleStore(user_file=Path(file), workspaces=Path(file).parent / "rules")
    for number in range(5):
        store.add(rule("allow", f"{name}{number}"), Scope.USER)


def test_processes_lose_no_rule(store: RuleStore, file: Path) -> None:
    context = multiprocessing.get_context("fork")
    writers = [context.Process(target=_add_rules, args=(str(file), name)) for name in "abcd"]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert [writer.exitcode for writer in writers] == [0] * 4
    for writer in writers:
        writer.close()
    assert {each.pattern for each in store.listed()} == {f"{name}{number}" for name in "abcd" for number in range(5)}


def test_rules_of_sessions_have_an_end(store: RuleStore) -> None:
    for number in range(500):
        store.add(rule("allow", f"p{number}"), Scope.SESSION, session="fix")
    with pytest.raises(InvalidRule, match="more than 500 rules"):
        store.add(rule("allow", "one-more"), Scope.SESSION, session="fix")


def test_any_file_can_be_checked(tmp_path: Path) -> None:
    file = tmp_path / "x.toml"
    assert problems_of_file(file) == [f"{file}: is not there"]
    file.write_text('allow = ["git"]\ndeny = 7\n')
    assert problems_of_file(file) == [f"{file}:2: deny must be a list of commands"]
    file.write_text('allow = ["git"]\n')
    assert problems_of_file(file) == []
