# SPDX-License-Identifier: MIT
"""Connections to a service, and what is said on them."""

from __future__ import annotations

import asyncio
import collections
import errno
import os
import socket
import struct
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Callable, Deque, Iterable, Optional, TypeVar, Union

from . import _engine, _find, _wire
from ._errors import NobodyListens, PublishError, Refused, SeveralListen, Unanswered
from ._wire import Message

T = TypeVar("T")

IDLE_MAX = 4  # connections kept for the next call
_NOSIGNAL = getattr(socket, "MSG_NOSIGNAL", 0)
# Nobody is there, or was, when connecting fails like this.
_ABSENT = (errno.ENOENT, errno.ECONNREFUSED, errno.ENOTDIR, errno.ECONNRESET)


class _NotTaken(Exception):
    """The connection ended before the whole request was read: nothing was published."""


class _Process:
    """What belongs to one process: after a fork, its connections are the parent's."""

    def __init__(self) -> None:
        self.pid = os.getpid()
        self.idle: Deque[socket.socket] = collections.deque()
        self.executor: Optional[ThreadPoolExecutor] = None
        self.lock = threading.Lock()


class Publisher:
    """Publishes to one service. The module's functions are those of a Publisher of
    its own; make another one for another service, or another timeout (seconds that an
    answer may take).

    A Publisher keeps at most 4 connections. It may be used by any number of threads.
    """

    def __init__(
        self, path: Optional[Union[str, os.PathLike[str]]] = None, timeout: float = 5.0
    ) -> None:
        self._path = None if path is None else os.fspath(path)
        self._timeout = timeout
        self._process = _Process()

    def publish(
        self, channel: str, data: str, *, event: Optional[str] = None,
        id: Optional[Union[str, int]] = None,
    ) -> int:
        """Publishes one event to every stream that subscribes to the channel, in every
        worker, and returns its id. `event` is its type ("message" when None); `id` is
        what clients keep in place of the event's id (see Message)."""
        return self.publish_many([Message(channel, data, event, id)])[0]

    def publish_many(self, messages: Iterable[Union[Message, tuple[Any, ...]]]) -> list[int]:
        """Publishes events in order and returns their ids, with few round trips.
        Messages are Message, or tuples of its fields. When some are refused, the
        others are published all the same, and Refused says which and why."""
        given = [Message(*m) for m in messages]
        encoded = [_wire.encode(m) for m in given]
        engine = _engine.find() if self._path is None else None
        if engine:
            outcomes = [_engine.publish(engine, m) for m in given]
        else:
            outcomes = self._send(encoded)
        ids = [None if isinstance(outcome, str) else outcome for outcome in outcomes]
        reasons = {i: outcome for i, outcome in enumerate(outcomes) if isinstance(outcome, str)}
        if reasons:
            first = next(iter(reasons))
            which = f"{len(reasons)} of {len(given)}, message {first}: " if len(given) > 1 else ""
            raise Refused(f"m0pub: refused: {which}{reasons[first]}", ids, reasons)
        return [i for i in ids if i is not None]

    async def apublish(
        self, channel: str, data: str, *, event: Optional[str] = None,
        id: Optional[Union[str, int]] = None,
    ) -> int:
        """publish for a coroutine: the event loop goes on meanwhile."""
        return await self._off_loop(lambda: self.publish(channel, data, event=event, id=id))

    async def apublish_many(
        self, messages: Iterable[Union[Message, tuple[Any, ...]]]
    ) -> list[int]:
        """publish_many for a coroutine."""
        messages = list(messages)
        return await self._off_loop(lambda: self.publish_many(messages))

    def close(self) -> None:
        """Closes the connections. The next call opens one again."""
        mine = self._mine()
        with mine.lock:
            executor, mine.executor = mine.executor, None
        if executor is not None:
            executor.shutdown(wait=False)
        while True:
            try:
                mine.idle.pop().close()
            except IndexError:
                return

    def __enter__(self) -> Publisher:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _mine(self) -> _Process:
        """The state of this process. A child of fork begins anew: closing its copies of
        the parent's connections ends none of them."""
        mine = self._process
        if mine.pid != os.getpid():
            for conn in mine.idle:
                conn.close()
            self._process = mine = _Process()
        return mine

    async def _off_loop(self, call: Callable[[], T]) -> T:
        """Calls on a thread of our own, which nothing else can keep busy."""
        mine = self._mine()
        with mine.lock:
            if mine.executor is None:
                mine.executor = ThreadPoolExecutor(IDLE_MAX, "m0pub")
            future = mine.executor.submit(call)
        return await asyncio.wrap_future(future)

    def _send(self, encoded: list[bytes]) -> list[Union[int, str]]:
        """Sends messages through the socket and returns an id or a reason for each."""
        outcomes: list[Union[int, str]] = []
        for count, request in _wire.requests(encoded):
            try:
                outcomes += self._exchange(count, request)
            except Unanswered as error:
                error.ids = [i for i in outcomes if not isinstance(i, str)]
                raise
        return outcomes

    def _exchange(self, count: int, request: bytes) -> list[Union[int, str]]:
        """Sends a request and returns the answer. Only a request that was surely not
        taken is sent again: over a connection that was kept and has ended meanwhile, by
        every one of those, then over new ones, twice."""
        mine = self._mine()
        for _ in range(IDLE_MAX):
            try:
                conn = mine.idle.pop()
            except IndexError:
                break
            try:
                return self._converse(mine, conn, count, request)
            except _NotTaken:
                continue
        try:
            return self._converse(mine, self._connect(), count, request)
        except _NotTaken:
            pass
        conn = self._connect()
        path = conn_path(conn)
        try:
            return self._converse(mine, conn, count, request)
        except _NotTaken:
            raise NobodyListens(
                f"m0pub: nobody listens at {path} for long: connections to it end at once."
                f" {_find.START}", path,
            ) from None

    def _converse(
        self, mine: _Process, conn: socket.socket, count: int, request: bytes
    ) -> list[Union[int, str]]:
        kept = False
        try:
            body = _receive(conn, sent=_send(conn, request))
            try:
                if body[0] == _wire.OVER:
                    raise Refused("m0pub: refused: " + body[1:].decode("utf-8", "replace"))
                outcomes = _wire.outcomes(body, count)
            except (struct.error, IndexError):
                raise Unanswered("m0pub: the answer makes no sense: no service of ours?") from None
            if len(mine.idle) < IDLE_MAX:
                mine.idle.append(conn)
                kept = True
            return outcomes
        finally:
            if not kept:
                conn.close()

    def _connect(self) -> socket.socket:
        paths = [self._path, self._path + _find.LEFT] if self._path else _find.candidates()
        told = self._path or os.environ.get(_find.ENV, "")
        if told:
            return self._connect_first(paths)
        open_ = [c for c in map(self._dial, paths) if c is not None]
        if len(open_) == 1:
            return open_[0]
        living = [conn_path(c) for c in open_]
        for conn in open_:
            conn.close()
        if not open_:
            raise NobodyListens(
                f"m0pub: nobody listens at {paths[0]}: the service that made it is gone."
                f" {_find.START}", paths[0],
            )
        raise SeveralListen(
            f"m0pub: {len(living)} services run in this directory, and which one is meant?"
            f" Set {_find.ENV} to one of: {', '.join(living)}", living,
        )

    def _connect_first(self, paths: list[str]) -> socket.socket:
        for path in paths:
            conn = self._dial(path)
            if conn is not None:
                return conn
        raise NobodyListens(
            f"m0pub: nobody listens at {paths[0]}, which is what"
            f" {'was asked for' if self._path else _find.ENV + ' says'}."
            " Start its service, or name the socket of the one that runs.", paths[0],
        )

    def _dial(self, path: str) -> Optional[socket.socket]:
        """Connects, or returns None where nobody listens."""
        conn = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            conn.settimeout(self._timeout)
            conn.connect(path)
            return conn
        except OSError as error:
            conn.close()
            if error.errno in _ABSENT:
                return None
            why = "it is silent" if isinstance(error, socket.timeout) else str(error)
            raise NobodyListens(f"m0pub: nobody listens to us at {path}: {why}", path) from error


def conn_path(conn: socket.socket) -> str:
    try:
        return os.fsdecode(conn.getpeername())
    except OSError:
        return "the socket"


def _send(conn: socket.socket, request: bytes) -> bool:
    """Sends a request and reports whether all of it went: what did not go whole is not
    published, but the answer may say why."""
    try:
        conn.sendall(request, _NOSIGNAL)
        return True
    except socket.timeout:
        raise PublishError(
            f"m0pub: {conn_path(conn)} did not take the event in {conn.gettimeout():g} s: it is"
            " not published. Is the service stopped, or the machine overloaded?"
        ) from None
    except OSError:
        return False


def _receive(conn: socket.socket, sent: bool) -> bytes:
    """Reads an answer. A connection that ends with a reset had not been read to its
    end, so the request was not taken; one that ends in order may have been."""
    try:
        head = _read(conn, _wire.HEAD.size)
        magic, size = _wire.HEAD.unpack(head)
        if magic != _wire.MAGIC or not 0 < size <= _wire.ANSWER_MAX:
            raise Unanswered("m0pub: the answer makes no sense: no service of ours?")
        return _read(conn, size)
    except socket.timeout:
        raise Unanswered(
            f"m0pub: no answer from {conn_path(conn)} in {conn.gettimeout():g} s: the event may"
            " have been published. Is the service stopped, or the machine overloaded?"
        ) from None
    except (EOFError, OSError) as error:
        if not sent or isinstance(error, OSError):
            raise _NotTaken from None
    raise Unanswered(
        "m0pub: the worker that had the event ended before it answered: it may have been"
        " published. Publish it again if twice is better than never."
    )


def _read(conn: socket.socket, size: int) -> bytes:
    parts = []
    while size:
        part = conn.recv(min(size, 1 << 16))
        if not part:
            raise EOFError
        parts.append(part)
        size -= len(part)
    return b"".join(parts)
