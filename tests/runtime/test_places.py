"""Where files are, and that nobody else can change them."""

import os
import stat
import sys
from pathlib import Path

import pytest

from hermitty.errors import HostUnavailable, InvalidSettings
from hermitty.runtime.places import Places, find_places, make_private


def test_variables_say_where_everything_is(tmp_path: Path) -> None:
    state = tmp_path / "state"
    places = find_places({"HERMITTY_CONFIG": str(tmp_path / "my.toml"), "HERMITTY_STATE_DIR": str(state)})
    assert places == Places(tmp_path / "my.toml", state)
    assert (places.history_file, places.artifacts) == (state / "history.db", state / "artifacts")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(sys.platform != "linux", reason="the places of Linux")
def test_the_platform_says_where_things_are_otherwise(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    expected = Places(tmp_path / "config" / "hermitty" / "config.toml", tmp_path / "state" / "hermitty")
    assert find_places({}) == find_places({"HERMITTY_CONFIG": "", "HERMITTY_STATE_DIR": ""}) == expected
    assert list(tmp_path.iterdir()) == []


def test_relative_paths_and_the_home_directory_are_resolved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    places = find_places({"HERMITTY_CONFIG": "~/c.toml", "HERMITTY_STATE_DIR": "sub/../state"})
    assert places == Places(tmp_path / "home" / "c.toml", tmp_path / "state")


def test_a_new_directory_is_for_its_owner_alone(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        made = make_private(tmp_path / "state")
    finally:
        os.umask(before)
    assert stat.S_IMODE(made.stat().st_mode) == 0o700
    assert make_private(made) == made


def test_a_directory_that_others_can_change_is_refused_and_left_alone(tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o1777)
    with pytest.raises(InvalidSettings, match="can be changed by other users"):
        make_private(shared)
    assert stat.S_IMODE(shared.stat().st_mode) == 0o1777


def test_a_directory_that_others_can_only_read_is_used_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(0o755)
    make_private(tmp_path / "open")
    assert stat.S_IMODE((tmp_path / "open").stat().st_mode) == 0o755


def test_a_file_in_the_way_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(HostUnavailable, match="file/state"):
        make_private(tmp_path / "file" / "state")
    with pytest.raises(HostUnavailable, match="file"):
        make_private(tmp_path / "file")
