# SPDX-License-Identifier: MIT
"""What can go wrong."""

from __future__ import annotations

from typing import Optional, Sequence


class PublishError(Exception):
    """An event was not published, or nobody knows."""


class NobodyListens(PublishError):
    """No service listens. `path` is the socket that was tried, or the directory in
    which none was found."""

    def __init__(self, text: str, path: str) -> None:
        super().__init__(text)
        self.path = path


class SeveralListen(PublishError):
    """Two services run in the directory, and nothing says which one is meant.
    `paths` are their sockets."""

    def __init__(self, text: str, paths: Sequence[str]) -> None:
        super().__init__(text)
        self.paths = list(paths)


class Refused(PublishError):
    """The service refused an event. `ids` has an id for each event that was
    published all the same, None for the others; `reasons` has the service's words by
    the event's place among those that were given."""

    def __init__(
        self, text: str, ids: Sequence[Optional[int]] = (), reasons: Optional[dict[int, str]] = None
    ) -> None:
        super().__init__(text)
        self.ids = list(ids)
        self.reasons = reasons or {}


class Unanswered(PublishError):
    """The worker that had the event ended, or was silent, before it answered: the
    event may have been published. m0pub does not send it again, since twice may be
    worse than never. `ids` are those of the events before it."""

    def __init__(self, text: str, ids: Sequence[int] = ()) -> None:
        super().__init__(text)
        self.ids = list(ids)
