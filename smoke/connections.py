"""Who is connected to the referee: strangers until they show the run's token, then peers.

Strangers get nothing: no answer, no log line, no memory beyond one short line each, and no place beyond MAX_STRANGERS. Whatever
one of them does ends that connection at most.
"""

from __future__ import annotations

import contextlib
import os
import random
import resource
import selectors
import socket
import time
from typing import Any, Callable, Dict, Iterator, List, Optional, Protocol

from protocol import MAX_HELLO, MAX_MESSAGE, MessageError, MessageReader, is_authentic, send

#: How long a stranger may stay without showing the token, in seconds.
HELLO = 10.0

#: How many strangers may be connected at once: one of them, at random, makes room for the next. An order could be used to keep others out.
MAX_STRANGERS = 128

#: How many connections are accepted before those that there are get their turn.
MAX_ACCEPTED = 256

#: How many connections the system keeps until they are accepted.
BACKLOG = 1024

#: The address that only processes of this machine reach.
LOOPBACK_ADDRESS = "127.0.0.1"

#: The name of the referee's socket in the folder of a run.
SOCKET = "referee"

#: Chooses who makes room: nobody outside can foresee it.
RANDOM = random.SystemRandom()

#: Bytes read from a connection at once.
PIECE = 1 << 16

#: How long sending to a peer may take, in seconds. Messages are short, so a peer that reads never takes that long.
SEND_TIMEOUT = 5.0


class Peer(Protocol):
    """What the referee makes of a connection that has shown the token."""

    def receive(self, message: Dict[str, Any]) -> None:
        """Takes a message. Raises MessageError where it is not what this peer may say now."""

    def malformed(self, error: MessageError) -> None:
        """The peer sent what it may not send; its connection closes."""

    def lost(self) -> None:
        """The connection has closed."""


class Connection:
    """A socket, with the peer that it turned out to belong to."""

    def __init__(self, sock: socket.socket) -> None:
        """Raises OSError where the other end is gone already."""
        self.sock = sock
        #: The address of the other end, and that by which it has reached this machine.
        self.address, self.own_address = (LOOPBACK_ADDRESS,) * 2
        if sock.family != socket.AF_UNIX:
            self.address, self.own_address = str(sock.getpeername()[0]), str(sock.getsockname()[0])
        self.reader = MessageReader(MAX_HELLO)
        self.peer: Optional[Peer] = None
        self.since = time.monotonic()
        self.closed = False

    def send(self, **message: Any) -> None:
        """Sends a message; a lost connection shows when it is read next."""
        with self._patience():
            send(self.sock, **message)

    def send_raw(self, data: bytes) -> None:
        """Sends bytes; a lost connection shows when it is read next."""
        with self._patience():
            self.sock.sendall(data)

    @contextlib.contextmanager
    def _patience(self) -> Iterator[None]:
        """Waits for the other end to take what is sent, for a moment; reading never waits."""
        with contextlib.suppress(OSError):
            self.sock.settimeout(SEND_TIMEOUT)
            yield
        with contextlib.suppress(OSError):
            self.sock.settimeout(0)


#: Makes a peer of a connection from its first message, which has shown the token; None turns it away.
Admit = Callable[[Connection, Dict[str, Any]], Optional[Peer]]


class Watch:
    """A file that is looked at. Files that are closed in one turn are not read in the same turn, whoever gets their number."""

    def __init__(self, ready: Callable[[], None]) -> None:
        self.ready = ready
        self.over = False


def listen_beyond(bind: str, port: int) -> socket.socket:
    """A socket that listens on the address `bind`, at a port of the system's choice where `port` is 0. Raises OSError."""
    return socket.create_server((bind, port), backlog=BACKLOG)


def listen_within(folder: str) -> socket.socket:
    """A socket in a private folder, which nobody but this user reaches.

    It is one on the loopback where the folder's path is too long, or its file system has no sockets. Raises OSError.
    """
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        listener.bind(os.path.join(folder, SOCKET))
        listener.listen(BACKLOG)
    except OSError:
        listener.close()
        return listen_beyond(LOOPBACK_ADDRESS, 0)
    return listener


class Server:
    """The referee's socket and everyone who is connected to it."""

    def __init__(self, listener: socket.socket, token: str, admit: Admit) -> None:
        """Takes over a listening socket."""
        self._token = token
        self._admit = admit
        self._strangers: List[Connection] = []
        self._selector = selectors.DefaultSelector()
        self._watches: Dict[Any, Watch] = {}
        self._listener = listener
        # a connection that is gone before it is accepted must not block the referee
        self._listener.setblocking(False)
        self.watch(self._listener, self._accept)
        #: Why no more connections can be accepted, where no stranger can make room; then the server no longer listens.
        self.failure: Optional[OSError] = None

    def places(self, hosts: List[str]) -> List[str]:
        """Where the referee is, for the environment of its ranks: a path, or the port at each of its machine's addresses."""
        name = self._listener.getsockname()
        return [name] if isinstance(name, str) else ["%s:%d" % (host, name[1]) for host in hosts]

    def watch(self, file: Any, ready: Callable[[], None]) -> None:
        """Calls `ready` whenever a file can be read: a socket or a pipe. Raises OSError for other files."""
        watch = self._watches[file] = Watch(ready)
        self._selector.register(file, selectors.EVENT_READ, watch)

    def unwatch(self, file: Any) -> None:
        """Looks at a file no more."""
        self._selector.unregister(file)
        self._watches.pop(file).over = True

    def read(self, seconds: float) -> None:
        """Reads what has arrived, or arrives within so many seconds."""
        for key, _ in self._selector.select(seconds):
            if not key.data.over:
                key.data.ready()
        now = time.monotonic()
        for stranger in [one for one in self._strangers if now - one.since > HELLO]:
            self._close(stranger)

    def _accept(self) -> None:
        """Accepts who has come, and reads at once what each has sent: a rank sends its token before it is accepted."""
        for _ in range(MAX_ACCEPTED):
            try:
                sock, _ = self._listener.accept()
            except (BlockingIOError, ConnectionAbortedError):
                return
            except OSError as error:
                # no file is left: that of a stranger is the first to go
                if self._strangers:
                    self._evict()
                else:
                    self.failure = error
                    self.unwatch(self._listener)
                return
            self._welcome(sock)

    def _welcome(self, sock: socket.socket) -> None:
        try:
            connection = Connection(sock)
            sock.settimeout(0)
            self.watch(sock, lambda: self._receive(connection))
        except OSError:
            sock.close()
            return
        if len(self._strangers) >= MAX_STRANGERS:
            self._evict()
        self._strangers.append(connection)
        self._receive(connection)

    def _evict(self) -> None:
        self._close(RANDOM.choice(self._strangers))

    def _receive(self, connection: Connection) -> None:
        """Reads from a connection. No error that what it sent causes goes further than to its peer."""
        try:
            data = connection.sock.recv(PIECE)
            for message in connection.reader.feed(data):
                self._take(connection, message)
                if connection.closed:
                    return
        except BlockingIOError:
            return
        except OSError:
            data = b""
        except MessageError as error:
            self._malformed(connection, error)
            data = b""
        except Exception as error:
            self._malformed(connection, MessageError("what the referee cannot read: %s" % type(error).__name__))
            data = b""
        if not data and not connection.closed:
            self._close(connection)

    @staticmethod
    def _malformed(connection: Connection, error: MessageError) -> None:
        if connection.peer is not None:
            connection.peer.malformed(error)

    def _take(self, connection: Connection, message: Dict[str, Any]) -> None:
        if connection.peer is not None:
            connection.peer.receive(message)
            return
        connection.peer = self._admit(connection, message) if is_authentic(message, self._token) else None
        if connection.peer is None:
            self._close(connection)
            return
        self._strangers.remove(connection)
        connection.reader.most = MAX_MESSAGE

    def _close(self, connection: Connection) -> None:
        self.unwatch(connection.sock)
        connection.sock.close()
        connection.closed = True
        if connection.peer is not None:
            connection.peer.lost()
        else:
            self._strangers.remove(connection)


def allow_files(count: int) -> None:
    """Lets this process have so many files open at once, as far as the system allows."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != resource.RLIM_INFINITY and soft < count:
        most = count if hard == resource.RLIM_INFINITY else min(count, hard)
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))


def own_addresses() -> List[str]:
    """How other machines may reach this one: by its name, and by the addresses of the name and of the default route."""
    names = [socket.gethostname()]
    with contextlib.suppress(OSError):
        names += [str(info[4][0]) for info in socket.getaddrinfo(names[0], None, socket.AF_INET, socket.SOCK_STREAM)]
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe, contextlib.suppress(OSError):
        # connecting a datagram socket sends nothing: the kernel only chooses the route
        probe.connect(("192.0.2.1", 9))
        names.append(probe.getsockname()[0])
    # on another machine the loopback is that machine, where a stranger may listen: it is named only where there is nothing else
    far = [name for name in names[1:] if not name.startswith("127.")]
    return list(dict.fromkeys([names[0], *(far or ["127.0.0.1"])]))
