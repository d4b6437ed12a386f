"""`--state-dir`: which server, host or history is meant, where several are on one machine."""

import argparse
import os


def add_state_dir(parser: argparse.ArgumentParser, what: str = "the state directory of the server") -> None:
    """Describe the option."""
    parser.add_argument("--state-dir", metavar="D", help=f"{what} (default: HERMITTY_STATE_DIR)")


def use_state_dir(options: argparse.Namespace) -> None:
    """Let everything that looks for the state directory, from here on, find this one."""
    if directory := getattr(options, "state_dir", None):
        from hermitty.runtime.places import STATE_VARIABLE

        os.environ[STATE_VARIABLE] = os.path.abspath(os.path.expanduser(directory))
