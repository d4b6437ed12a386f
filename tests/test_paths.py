"""Relations between directories, by the rules of both platforms."""

import os
from pathlib import Path, PurePosixPath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermitty.errors import InvalidDirectory
from hermitty.paths import PathRelation, as_path, can_change_directory, canonical, identity, path_relation, same_path

SAME, PARENT, CHILD, UNRELATED = PathRelation

TURNED = {SAME: SAME, PARENT: CHILD, CHILD: PARENT, UNRELATED: UNRELATED}

NAMES = st.text("aAbB. é", min_size=1, max_size=3).filter(lambda name: name.strip(".") != "")
ABSOLUTE = st.lists(NAMES, max_size=4).map(lambda names: "/" + "/".join(names))


@pytest.mark.parametrize(
    ("path1", "path2", "relation"),
    [
        ("/a", "/a", SAME),
        ("/a/", "/a/./", SAME),
        ("/a//b", "/a/b", SAME),
        ("//a", "/a", SAME),
        ("/a/b/../c", "/a/c", SAME),
        ("/..", "/", SAME),
        ("/a", "/a/b", PARENT),
        ("/a", "/a/b/c/d", PARENT),
        ("/", "/a", PARENT),
        ("/a/b", "/a", CHILD),
        ("/a", "/", CHILD),
        ("/a/proj", "/a/project", UNRELATED),
        ("/a/project", "/a/proj", UNRELATED),
        ("/a/b", "/a/c", UNRELATED),
        ("/A", "/a", UNRELATED),
        ("/a\\b", "/a", UNRELATED),
        ("a", "/a", UNRELATED),
        ("a", "a/b", PARENT),
        (".", "a", PARENT),
        (".", "..", UNRELATED),
        ("..", "../a", PARENT),
        ("", "/a", UNRELATED),
        ("", "", UNRELATED),
    ],
)
def test_the_relation_of_posix_paths(path1: str, path2: str, relation: PathRelation) -> None:
    assert path_relation(path1, path2, windows=False) is relation
    assert path_relation(path2, path1, windows=False) is TURNED[relation]


@pytest.mark.parametrize(
    ("path1", "path2", "relation"),
    [
        (r"C:\a", "c:/A/", SAME),
        ("C:\\", "c:/", SAME),
        (r"C:\a\..\b", r"C:\B", SAME),
        (r"\\Server\Share", "//server/share/", SAME),
        (r"\\?\C:\a", r"c:\a", SAME),
        (r"\\?\UNC\server\share\a", r"\\server\share\a", SAME),
        ("C:\\", r"C:\a", PARENT),
        (r"C:\a", "c:/A/b", PARENT),
        (r"\\server\share", r"\\server\share\a", PARENT),
        (r"C:\a", r"D:\a\b", UNRELATED),
        (r"C:\a\proj", r"C:\a\project", UNRELATED),
        (r"\\server\share", r"\\server\shared", UNRELATED),
        (r"\\server\one", r"\\server\two\a", UNRELATED),
        ("C:", r"C:\a", UNRELATED),
        ("C:", "C:a", PARENT),
        (r"\a", r"C:\a", UNRELATED),
    ],
)
def test_the_relation_of_windows_paths(path1: str, path2: str, relation: PathRelation) -> None:
    assert path_relation(path1, path2, windows=True) is relation
    assert path_relation(path2, path1, windows=True) is TURNED[relation]


@given(ABSOLUTE, ABSOLUTE)
def test_the_relation_is_that_of_the_standard_library(path1: str, path2: str) -> None:
    one, two = PurePosixPath(path1), PurePosixPath(path2)
    expected = SAME if one == two else PARENT if one in two.parents else CHILD if two in one.parents else UNRELATED
    assert path_relation(path1, path2, windows=False) is expected
    assert can_change_directory(path1, path2, windows=False) is (expected is not UNRELATED)
    assert same_path(path1, path2, windows=False) is (expected is SAME)


@given(st.text("aB./\\:?", max_size=12), st.text("aB./\\:?", max_size=12), st.booleans())
def test_turning_the_paths_around_turns_the_relation(path1: str, path2: str, windows: bool) -> None:
    relation = path_relation(path1, path2, windows=windows)
    assert path_relation(path2, path1, windows=windows) is TURNED[relation]
    assert can_change_directory(path1, path2, windows=windows) is (relation is not UNRELATED)
    if path1 and path2:
        assert same_path(path1, path2, windows=windows) is (relation is SAME)


@given(ABSOLUTE, NAMES)
def test_a_detour_leads_to_the_same_place(path: str, name: str) -> None:
    assert same_path(f"{path}/{name}/..", path, windows=False)
    assert path_relation(path, f"{path}/./{name}//", windows=False) is PARENT


def test_missing_paths_are_equal_to_each_other_only() -> None:
    assert same_path(None, None)
    assert not same_path(None, "/a")
    assert not same_path("/a", None)
    assert not same_path("/", None)
    assert not same_path("", "/")


def test_case_counts_on_posix_and_not_on_windows() -> None:
    assert not same_path("/A", "/a", windows=False)
    assert same_path("/A", "/a", windows=True)


@pytest.mark.parametrize(
    ("value", "windows", "path"),
    [
        ("/a b", False, "/a b"),
        ("file:///a%20b", False, "/a b"),
        ("FILE://localhost/a", False, "/a"),
        ("file:///%FF", False, "/\udcff"),
        ("file:///a%2Fb?c", False, "/a/b"),
        ("files/x", False, "files/x"),
        ("file:///C:/a%20b", True, r"C:\a b"),
        ("file://server/share/a", True, r"\\server\share\a"),
        (r"C:\a", True, r"C:\a"),
        (PurePosixPath("/a/b"), False, "/a/b"),
    ],
)
def test_what_names_a_path(value: str | os.PathLike[str], windows: bool, path: str) -> None:
    assert as_path(value, windows=windows) == path


@pytest.mark.parametrize("url", ["file://elsewhere/a", "file:///a%00b"])
def test_a_url_that_is_no_path_here_is_refused(url: str) -> None:
    with pytest.raises(InvalidDirectory):
        as_path(url, windows=False)


def test_a_link_and_its_target_are_one_place(tmp_path: Path) -> None:
    (tmp_path / "real" / "sub").mkdir(parents=True)
    (tmp_path / "link").symlink_to("real")
    assert canonical(tmp_path / "link" / "sub") == canonical(tmp_path / "real" / "sub")
    assert canonical((tmp_path / "link").as_uri()) == canonical(tmp_path / "real")
    assert canonical(tmp_path / "link" / "gone") == canonical(tmp_path / "real") + "/gone"


def test_a_directory_made_again_is_another_one(tmp_path: Path) -> None:
    place = tmp_path / "place"
    place.mkdir()
    first = identity(str(place))
    place.rename(tmp_path / "kept")
    assert identity(str(place)) is None
    place.mkdir()
    assert identity(str(place)) not in (None, first)
    assert identity(str(tmp_path / "kept")) == first
