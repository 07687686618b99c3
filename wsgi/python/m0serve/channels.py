# SPDX-License-Identifier: MIT
"""What an application has in scope["state"]["m0"]: one object, the same in every scope.

    m0 = scope["state"]["m0"]  # request.state.m0 in Starlette and FastAPI
    await m0.publish("news", "hello")
    async for message in m0.subscribe("news"):
        ...

`publish` reaches every stream and subscription of every worker, as m0pub does. `subscribe`
gives what is published from then on. At most 256 messages wait for one subscription; above that
the oldest are dropped, and counted in its `dropped`. Messages are told apart by their id, which
grows.

Both may be used from any thread and event loop of the worker. A subscription ends when the
worker begins to stop, with close(), with `async with`, or when nothing refers to it any more:
leaving its loop is enough.
"""

import asyncio
from typing import NamedTuple, Optional


class Message(NamedTuple):
    """What a subscription gives."""

    channel: str
    event: Optional[str]  # None: it was published without a name
    data: str
    id: str


class Channels:
    """Publishes and subscribes."""

    def __init__(self):
        self._waiting = {}  # token of a subscription: the future of who waits for it

    async def publish(self, channel, data, event=None, id=None):
        """Publishes one event to the channel and returns its id. What cannot be published is
        a ValueError: a name that is the server's own, data above about 4 MiB."""
        if isinstance(id, int) and not isinstance(id, bool):
            id = str(id)
        return native.publish(
            text("channel", channel), text("data", data),
            "" if event is None else text("event", event), "" if id is None else text("id", id),
        )

    def subscribe(self, *channels):
        """An async iterator of what is published to the channels from now on. A name that is
        the server's own is a ValueError, at once."""
        return Subscription(self._waiting, channels)

    def __repr__(self):
        return "<m0: publish and subscribe>"

    def __deepcopy__(self, memo):
        return self  # there is one in a worker

    def _heard(self, token):
        """Wakes who waits for a subscription."""
        future = self._waiting.pop(token, None)
        if future is not None:
            wake(future)

    def _attached(self):
        """Wakes everybody: nobody was, before the worker served."""
        for token in list(self._waiting):
            self._heard(token)


class Subscription:
    """An async iterator of messages, for one task at a time. `dropped` is how many messages it
    did not get since they came too fast."""

    __slots__ = ("dropped", "_token", "_waiting", "__weakref__")

    def __init__(self, waiting, channels):
        self.dropped = 0
        self._token = None
        self._waiting = waiting
        if not channels:
            raise TypeError("m0: subscribe to at least one channel")
        for channel in channels:
            self._token = native.subscribe(self._token, text("channel", channel))

    def __aiter__(self):
        return self

    async def __anext__(self):
        """The next message. A call that is cancelled loses none."""
        while True:
            got = self._receive()
            if got is None:
                got = await self._wait()
            if got is None:
                continue
            if got is False:
                self.close()
                raise StopAsyncIteration
            if isinstance(got, int):
                self.dropped += got
                continue
            return Message(*got)

    def close(self):
        """Ends it: what waits is forgotten, and who waits for it is told the end."""
        token, self._token = self._token, None
        if token is None:
            return
        native.unsubscribe(token)
        future = self._waiting.pop(token, None)
        if future is not None:
            wake(future)

    async def aclose(self):
        self.close()

    async def __aenter__(self):
        return self

    async def __aexit__(self, *error):
        self.close()

    def __del__(self):
        try:
            self.close()
        except RuntimeError:
            pass  # a forked child: it is the parent's

    def _receive(self):
        return False if self._token is None else native.receive(self._token)

    async def _wait(self):
        """Waits for news, and gives what was found, if anything."""
        token, waiting = self._token, self._waiting
        if token in waiting:
            raise RuntimeError("m0: another task waits for this subscription already")
        future = waiting[token] = asyncio.get_running_loop().create_future()
        try:
            got = self._receive()  # it may have come before anybody could be woken
            if got is None:
                await future
            return got
        finally:
            if waiting.get(token) is future:
                del waiting[token]


def text(name, value):
    """value, which has to be a str."""
    if not isinstance(value, str):
        hint = "; json.dumps makes one of most things" if name == "data" else ""
        raise TypeError("m0: %s has to be a str, not %s%s" % (name, type(value).__name__, hint))
    return value


def wake(future):
    """Ends the wait of a future, whichever event loop it belongs to."""
    loop = future.get_loop()
    try:
        here = asyncio.get_running_loop()
    except RuntimeError:
        here = None
    if here is loop:
        resolve(future)
        return
    try:
        loop.call_soon_threadsafe(resolve, future)
    except RuntimeError:
        pass  # that loop is closed


def resolve(future):
    if not future.done():
        future.set_result(None)
