"""What is shown, hidden and writable, on a disk that is a table; and the words that bubblewrap gets for it."""

import posixpath
from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermitty.errors import SandboxRefused
from hermitty.sandbox import bubblewrap, landlock
from hermitty.sandbox.landlock import Rule
from hermitty.sandbox.layout import Facts, Layout, Mount, layout, within
from hermitty.sandbox.plan import exchangeable
from hermitty.sandbox.spec import Confinement, Mode

HOME = "/home/me"
# Paths that exist: True is a directory, False a file, a text is where a link leads.
DISK: dict[str, bool | str] = {
    **dict.fromkeys(("/", "/usr", "/etc", "/home", HOME, "/tmp", "/run", "/data", "/dev", "/proc"), True),
    "/bin": "/usr/bin",
    "/usr/bin": True,
    "/etc/passwd": False,
    "/etc/shadow": False,
    f"{HOME}/.ssh": True,
    f"{HOME}/.ssh/known_hosts": False,
    f"{HOME}/.netrc": False,
    f"{HOME}/src": True,
    f"{HOME}/src/.git": True,
    f"{HOME}/src/.git/config": False,
    f"{HOME}/src/.git/hooks": True,
    f"{HOME}/state": True,
    f"{HOME}/plain": True,
    "/private": True,
}
WORK = f"{HOME}/src"


def facts(disk: Mapping[str, bool | str], home: str = HOME) -> Facts:
    def real(path: str) -> str | None:
        path = posixpath.normpath(path)
        for _ in range(8):
            parts = path.split("/")
            for count in range(2, len(parts) + 1):
                part = "/".join(parts[:count])
                if isinstance(target := disk.get(part), str):
                    path = posixpath.normpath(target + path[len(part) :])
                    break
            else:
                return path if path in disk else None
        return None

    def names(path: str) -> list[str]:
        return sorted(
            {each[len(path.rstrip("/")) + 1 :].split("/")[0] for each in disk if each != path and within(each, path)}
        )

    def entries(path: str) -> list[tuple[str, bool]]:
        found = ((name, disk.get(posixpath.join(path, name))) for name in names(path))
        return [(name, kind) for name, kind in found if isinstance(kind, bool)]

    return Facts(home, real, lambda path: disk.get(path) is True, names, entries)


def made(
    disk: Mapping[str, bool | str] = DISK, mode: Mode = Mode.WORKSPACE, cwd: str = WORK, **fields: object
) -> Layout:
    order = Confinement(mode=mode, **{"workspace": WORK, **fields})  # type: ignore[arg-type]
    return layout(order, facts(disk), cwd=cwd, directory="/private")


def test_a_workspace() -> None:
    assert made(hide=(f"{HOME}/state",)).mounts == (
        Mount("ro", "/"),
        Mount("dev", "/dev"),
        Mount("proc", "/proc"),
        Mount("tmpfs", "/tmp"),
        Mount("tmpfs", "/run"),
        Mount("empty", f"{HOME}/.ssh"),
        Mount("null", f"{HOME}/.netrc"),
        Mount("null", "/etc/shadow"),
        Mount("empty", f"{HOME}/state"),
        Mount("rw", WORK),
        Mount("rw", f"{WORK}/.git"),
        Mount("ro", f"{WORK}/.git/hooks"),
        Mount("ro", f"{WORK}/.git/config"),
        Mount("rw", "/private"),
    )


def test_of_the_only_file_in_a_directory_of_the_home_the_directory_is_hidden() -> None:
    alone = {**DISK, f"{HOME}/.config": True, f"{HOME}/.config/pip": True, f"{HOME}/.config/pip/pip.conf": False}
    assert Mount("empty", f"{HOME}/.config/pip") in made(alone).mounts
    assert Mount("null", f"{HOME}/.config/pip/pip.conf") not in made(alone).mounts
    with_another = {**alone, f"{HOME}/.config/pip/constraints.txt": False}
    assert Mount("null", f"{HOME}/.config/pip/pip.conf") in made(with_another).mounts
    nothing_else = {HOME: True, "/": True, f"{HOME}/.netrc": False, "/work": True, "/private": True}
    assert Mount("null", f"{HOME}/.netrc") in made(nothing_else, cwd="/work", workspace="/work").mounts


def test_a_strict_one_shows_the_system_and_what_is_listed() -> None:
    found = made(mode=Mode.STRICT, read=("/data",))
    assert found.mounts == (
        Mount("tmpfs", "/"),
        Mount("ro", "/usr"),
        Mount("link", "/bin", "/usr/bin"),
        Mount("ro", "/etc/passwd"),
        Mount("dev", "/dev"),
        Mount("proc", "/proc"),
        Mount("tmpfs", "/tmp"),
        Mount("tmpfs", "/run"),
        Mount("tmpfs", HOME),
        Mount("ro", "/data"),
        Mount("rw", WORK),
        Mount("ro", f"{WORK}/.git"),
        Mount("rw", "/private"),
        Mount("seal", "/"),
    )


def test_what_is_listed_opens_a_part_of_what_is_hidden() -> None:
    mounts = made(read=("~/.ssh/known_hosts",)).mounts
    opened = [mount for mount in mounts if within(mount.path, f"{HOME}/.ssh")]
    assert opened == [
        Mount("tmpfs", f"{HOME}/.ssh"),
        Mount("ro", f"{HOME}/.ssh/known_hosts"),
        Mount("seal", f"{HOME}/.ssh"),
    ]


def test_what_is_listed_does_not_show_the_secrets_in_it() -> None:
    mounts = made(mode=Mode.STRICT, read=("~/",)).mounts
    assert mounts.index(Mount("ro", HOME)) < mounts.index(Mount("empty", f"{HOME}/.ssh"))


@pytest.mark.parametrize(
    ("change", "fields", "problem"),
    [
        ({}, {"workspace": "/nowhere"}, "is no directory"),
        ({}, {"workspace": "/etc/passwd"}, "is no directory"),
        ({}, {"workspace": "/"}, "belongs to the system"),
        ({}, {"workspace": "/usr"}, "belongs to the system"),
        ({}, {"workspace": "/usr/bin"}, "belongs to the system"),
        ({}, {"workspace": "/bin"}, "belongs to the system"),
        ({}, {"workspace": HOME}, "holds the home directory"),
        ({}, {"workspace": "/home"}, "belongs to the system"),
        ({}, {"workspace": f"{HOME}/.ssh"}, "hidden"),
        ({f"{HOME}/.ssh/deep": True}, {"workspace": f"{HOME}/.ssh/deep"}, "hides"),
        ({f"{HOME}/link": f"{HOME}/.ssh"}, {"workspace": f"{HOME}/link"}, "hidden"),
        ({f"{HOME}/link": HOME}, {"workspace": f"{HOME}/link"}, "holds the home directory"),
        ({}, {"write": ("/nowhere",)}, "is no directory"),
        ({}, {"write": ("~/.ssh",)}, "hidden"),
        ({}, {"read_deny": ("/",)}, "cannot be hidden"),
        ({}, {"hide": ("/home",)}, "cannot be hidden"),
        ({f"{HOME}/.config": True}, {"workspace": f"{HOME}/.config"}, "which others run"),
        ({f"{HOME}/.local/bin": True}, {"workspace": f"{HOME}/.local/bin"}, "which others run"),
        ({f"{HOME}/bin": True}, {"workspace": f"{HOME}/bin"}, "which others run"),
        ({f"{WORK}/.git": "/data"}, {}, "symbolic link"),
        ({f"{WORK}/.git/hooks": "/data"}, {}, "symbolic link"),
    ],
)
def test_what_cannot_protect_is_refused(change: dict[str, bool | str], fields: dict[str, object], problem: str) -> None:
    with pytest.raises(SandboxRefused, match=problem):
        made({**DISK, **change}, Mode.WORKSPACE, str(fields.get("workspace", WORK)), **fields)


@pytest.mark.parametrize(
    ("mode", "cwd", "problem"),
    [
        (Mode.WORKSPACE, "/data", None),
        (Mode.WORKSPACE, "/tmp", None),
        (Mode.WORKSPACE, "/tmp/mine", "cannot be seen"),
        (Mode.WORKSPACE, f"{HOME}/.ssh", "is hidden"),
        (Mode.STRICT, "/data", "cannot be seen in a strict"),
        (Mode.STRICT, HOME, None),
        (Mode.STRICT, "/usr/bin", None),
    ],
)
def test_where_a_shell_may_start(mode: Mode, cwd: str, problem: str | None) -> None:
    disk = {**DISK, "/tmp/mine": True}
    if problem is None:
        assert made(disk, mode, cwd)
    else:
        with pytest.raises(SandboxRefused, match=problem):
            made(disk, mode, cwd)


def test_links_are_followed() -> None:
    disk = {**DISK, "/elsewhere": True, f"{HOME}/.aws": "/elsewhere", f"{HOME}/link": WORK}
    found = made(disk, workspace=f"{HOME}/link", cwd=f"{HOME}/link")
    assert "/elsewhere" in found.hidden
    assert found.writable == (WORK,)


def test_a_worktree_keeps_its_file() -> None:
    disk = {path: kind for path, kind in DISK.items() if not path.startswith(f"{WORK}/.git")} | {f"{WORK}/.git": False}
    assert Mount("ro", f"{WORK}/.git") in made(disk).mounts


def test_a_home_in_tmp_is_shown() -> None:
    disk = {**DISK, "/tmp/home": True, "/tmp/home/.ssh": True}
    order = Confinement(Mode.WORKSPACE, WORK)
    mounts = layout(order, facts(disk, "/tmp/home"), cwd=WORK, directory="/private").mounts
    assert mounts.index(Mount("tmpfs", "/tmp")) < mounts.index(Mount("ro", "/tmp/home"))
    assert mounts.index(Mount("ro", "/tmp/home")) < mounts.index(Mount("empty", "/tmp/home/.ssh"))


def test_the_words_of_bubblewrap() -> None:
    order = Confinement(Mode.WORKSPACE, WORK, pids=7)
    words = bubblewrap.arguments("/usr/bin/bwrap", order, made(), ["/bin/sh", "-i"], cwd=WORK, seccomp=3)
    line = " ".join(words)
    for part in (
        "/usr/bin/bwrap --unshare-all --unshare-user --disable-userns --die-with-parent --cap-drop ALL ",
        f"--perms 0555 --tmpfs {HOME}/.ssh ",
        f"--ro-bind /dev/null {HOME}/.netrc ",
        f"--bind {WORK} {WORK} ",
        f"--ro-bind {WORK}/.git/hooks {WORK}/.git/hooks ",
        f"--chdir {WORK} --seccomp 3 -- /bin/sh -c ",
    ):
        assert part in line
    assert words[-5:] == ("sh", "7", "", "/bin/sh", "-i")
    assert "--new-session" not in words
    assert "--share-net" not in words


def test_what_was_opened_is_mounted_by_its_descriptor() -> None:
    order = Confinement(Mode.WORKSPACE, WORK)
    opened = {path: number for number, path in enumerate(exchangeable(made()), 4)}
    assert list(opened) == [WORK, f"{WORK}/.git", f"{WORK}/.git/hooks", f"{WORK}/.git/config"]
    line = " ".join(bubblewrap.arguments("bwrap", order, made(), ["x"], cwd=WORK, opened=opened))
    assert f"--bind-fd 4 {WORK} --bind-fd 5 {WORK}/.git --ro-bind-fd 6 {WORK}/.git/hooks --ro-bind-fd 7 " in line
    assert line.count("--ro-bind / /") == 1


def test_memory_is_limited_inside_where_it_is_for_each_process() -> None:
    order = Confinement(Mode.WORKSPACE, WORK, pids=7, memory_bytes=1 << 30)
    words = bubblewrap.arguments("bwrap", order, made(), ["x"], cwd=WORK, limits_processes=False, limits_memory=True)
    assert words[-4:] == ("sh", "", str(1 << 20), "x")
    assert bubblewrap.arguments("bwrap", order, made(), ["x"], cwd=WORK, limits_processes=False)[-2:] == ("--", "x")


def test_a_repository_without_settings_gets_empty_ones() -> None:
    disk = {path: kind for path, kind in DISK.items() if path not in (f"{WORK}/.git/hooks", f"{WORK}/.git/config")}
    mounts = made(disk).mounts
    assert Mount("empty", f"{WORK}/.git/hooks") in mounts
    assert Mount("made", f"{WORK}/.git/config") in mounts


def test_the_network_is_shared_when_it_is_asked_for() -> None:
    order = Confinement(Mode.WORKSPACE, WORK, network="host")
    assert "--share-net" in bubblewrap.arguments("bwrap", order, made(), ["x"], cwd=WORK)


@pytest.mark.parametrize("mode", [Mode.WORKSPACE, Mode.STRICT])
@pytest.mark.parametrize("path", [WORK, f"{WORK}/.git", f"{WORK}/.git/hooks"])
def test_what_is_listed_and_writable_is_mounted_once(mode: Mode, path: str) -> None:
    # A descriptor that bubblewrap mounts from is closed then.
    assert made(mode=mode, read=(path,)).mounts == made(mode=mode).mounts


def test_the_rules_of_landlock_name_all_but_the_secrets() -> None:
    rules = landlock.rules(made(hide=(f"{HOME}/state",)), facts(DISK))
    readable = {rule.path for rule in rules if rule.access == "read"}
    assert {"/usr", "/data", "/etc/passwd", f"{HOME}/plain", "/proc"} <= readable
    assert not readable & {"/", "/home", HOME, "/etc", f"{HOME}/.ssh", f"{HOME}/state", "/tmp", "/run", "/dev"}
    assert [rule for rule in rules if rule.access == "write"] == [Rule("write", WORK), Rule("write", "/private")]


@given(
    st.dictionaries(
        st.lists(st.sampled_from(["a", "b", "c"]), min_size=1, max_size=4).map(lambda names: "/" + "/".join(names)),
        st.just(True),
        max_size=12,
    ),
    st.lists(st.lists(st.sampled_from(["a", "b", "c"]), min_size=1, max_size=4), min_size=1, max_size=3),
)
def test_no_rule_of_landlock_covers_a_hole(tree: dict[str, bool], holes: list[list[str]]) -> None:
    disk: dict[str, bool | str] = {"/": True}
    named = ["/" + "/".join(hole) for hole in holes]
    for path in (*tree, *named):
        parts = path.split("/")
        disk |= {"/".join(parts[:count]): True for count in range(2, len(parts) + 1)}
    found = [rule.path for rule in landlock._read_around("/", named, facts(disk))]
    assert not [path for path in found for hole in named if within(hole, path) or within(path, hole)]
    covered = [path for path in disk if any(within(path, root) for root in found)]
    assert [
        path for path in disk if path not in covered and not any(within(h, path) or within(path, h) for h in named)
    ] == []
