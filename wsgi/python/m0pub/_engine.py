# SPDX-License-Identifier: MIT
"""Publishing inside a worker of m0serve: no socket, and nobody else to wait for."""

from __future__ import annotations

import os
import sys
from typing import Any, Callable, Optional, Union

from . import _find
from ._wire import Message

Publish = Callable[[str, str, str, str], int]


def find() -> Optional[Publish]:
    """What publishes in this process; None where it is no worker, but a child of one, say,
    or where the environment names another service by now."""
    native: Any = sys.modules.get("m0serve._native")
    if getattr(native, "worker", None) != (os.getpid(), os.environ.get(_find.ENV, "")):
        return None
    return native.publish  # type: ignore[no-any-return]


def publish(engine: Publish, m: Message) -> Union[int, str]:
    """Publishes a message that can be encoded; a str is why not."""
    id = "" if m.id is None else str(m.id)
    try:
        return engine(m.channel, m.data, m.event or "", id)
    except (ValueError, RuntimeError) as error:
        return str(error)
