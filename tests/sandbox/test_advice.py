"""What `hermitty doctor` says where bubblewrap does not work."""

from pathlib import Path

import pytest

from hermitty.sandbox.advice import Surroundings, advise, look_around
from hermitty.sandbox.probe import Abilities, Bubblewrap, Landlock

NONE = Abilities(Bubblewrap(None, "not installed"), Landlock(0, "no"))
BROKEN = Abilities(Bubblewrap("/usr/bin/bwrap", "No permissions to create new namespace"), Landlock(4, None))
WORKS = Abilities(Bubblewrap("/usr/bin/bwrap", None), Landlock(4, None))


@pytest.mark.parametrize(
    ("found", "around", "words"),
    [
        (WORKS, Surroundings(apparmor_restricts="1"), []),
        (NONE, Surroundings(), ["install bubblewrap"]),
        (BROKEN, Surroundings(apparmor_restricts="1"), ["AppArmor"]),
        (BROKEN, Surroundings(clone_allowed="0"), ["unprivileged_userns_clone=1"]),
        (BROKEN, Surroundings(most_namespaces="0"), ["max_user_namespaces"]),
        (BROKEN, Surroundings(in_container=True), ["seccomp=unconfined"]),
        (BROKEN, Surroundings(seccomp_mode="2", apparmor_restricts="1"), ["AppArmor", "seccomp=unconfined"]),
        (BROKEN, Surroundings(), ["No permissions to create new namespace"]),
    ],
)
def test_the_table(found: Abilities, around: Surroundings, words: list[str]) -> None:
    advice = advise(found, around)
    assert len(advice) == len(words)
    assert all(word in text for word, text in zip(words, advice, strict=True))


def test_the_surroundings_are_read(tmp_path: Path) -> None:
    for path, text in (
        ("proc/self/status", "Name:\tx\nSeccomp:\t2\n"),
        ("proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1\n"),
        ("proc/sys/user/max_user_namespaces", "0\n"),
        (".dockerenv", ""),
    ):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    assert look_around(tmp_path) == Surroundings(None, "0", "1", True, "2")
    assert look_around(tmp_path / "nowhere") == Surroundings()
