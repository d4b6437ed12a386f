"""Asking a durable host how it is, and telling it to stop: for whoever has no event loop, and of any version."""

import os
import socket
from dataclasses import dataclass
from pathlib import Path

from hermitty.errors import HostUnavailable
from hermitty.host.place import HostPlace, is_same_user
from hermitty.version import __version__
from hermitty.wire.hostlink import messages as m
from hermitty.wire.hostlink.frames import Decoder, encode, error_of

_ANSWER_S = 10.0
# Every terminal gets a moment to end before it is killed.
_STOP_S = 60.0


@dataclass(frozen=True, slots=True)
class HostStatus:
    """A host that runs."""

    welcome: m.Welcome
    report: m.StatusReport


def host_status(state: Path) -> HostStatus | None:
    """Return how the host of a state directory is, or None when there is none."""
    connection = _connect(HostPlace(state))
    if connection is None:
        return None
    with connection:
        return _Observer(connection).status()


def stop_host(state: Path) -> HostStatus | None:
    """End the host of a state directory with all of its terminals; return how it was, or None when there is none."""
    connection = _connect(HostPlace(state))
    if connection is None:
        return None
    with connection:
        observer = _Observer(connection)
        status = observer.status()
        observer.stop()
        return status


def _connect(place: HostPlace) -> socket.socket | None:
    address = place.read_address()
    if address is None:
        return None
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    connection.settimeout(_ANSWER_S)
    try:
        connection.connect(address)
    except TimeoutError as exc:
        connection.close()
        raise HostUnavailable("the host of terminals does not answer") from exc
    except OSError:
        connection.close()
        return None
    if not is_same_user(connection):
        connection.close()
        raise HostUnavailable(f"the socket {address!r} is served by another user")
    return connection


class _Observer:
    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._decoder = Decoder()
        self._waiting: list[m.Message] = []

    def status(self) -> HostStatus:
        self._connection.sendall(encode(m.Hello(m.VERSION, __version__, "observer", os.getpid(), "")))
        welcome = self._next()
        if isinstance(welcome, m.Refused):
            raise error_of(welcome)
        self._connection.sendall(encode(m.Status(1)))
        report = self._next()
        while isinstance(report, m.Stopping):
            report = self._next()
        if not isinstance(welcome, m.Welcome) or not isinstance(report, m.StatusReport):
            raise HostUnavailable("the host of terminals answers in a way that this version does not understand")
        return HostStatus(welcome, report)

    def stop(self) -> None:
        self._connection.settimeout(_STOP_S)
        self._connection.sendall(encode(m.Stop(2)))
        while not isinstance(self._next(), m.Done):
            pass
        # The connection ends after everything else.
        while self._connection.recv(4096):
            pass

    def _next(self) -> m.Message:
        try:
            while not self._waiting:
                data = self._connection.recv(65_536)
                if not data:
                    raise HostUnavailable("the host of terminals ended the connection")
                self._waiting = self._decoder.feed(data)
        except TimeoutError as exc:
            raise HostUnavailable("the host of terminals does not answer") from exc
        return self._waiting.pop(0)
