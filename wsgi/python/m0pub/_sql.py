# SPDX-License-Identifier: MIT
"""Publishing with a database cursor that is there already."""

from __future__ import annotations

import json
from typing import Optional

PG_CHANNEL = "m0"  # what m0serve --pg-listen listens to
PAYLOAD_MAX = 7999  # bytes; Postgres refuses a longer one


def notify_sql(channel: str, data: str, event: Optional[str] = None) -> str:
    """The statement that publishes through Postgres to services with --pg-listen,
    once its transaction commits. It holds its values as one literal, which reads the
    same whatever standard_conforming_strings says, and no character that a driver
    takes for a placeholder (% or a colon before a word), so it can be executed as it
    is.

    More than about 8,000 bytes do not fit: publish the id of a row then.
    """
    fields = {"channel": channel, "event": event, "data": data}
    parts = []
    for name, value in fields.items():
        if value is None and name == "event":
            continue
        if not isinstance(value, str):
            raise TypeError(f"m0pub: {name} has to be a str, not {type(value).__name__}")
        parts.append('"%s":%s' % (name, _string(value)))
    payload = "{" + ",".join(parts) + "}"
    size = len(payload.encode())
    if size > PAYLOAD_MAX:
        raise ValueError(
            f"m0pub: a notification of {size} bytes, at most {PAYLOAD_MAX}: publish the id"
            " of a row and let the client ask for it, or use m0pub.publish"
        )
    return "SELECT pg_notify('%s', E'%s')" % (PG_CHANNEL, payload.replace("\\", "\\\\"))


def _string(value: str) -> str:
    text = json.dumps(value, ensure_ascii=False)
    for mark in "'%:?":
        text = text.replace(mark, "\\u%04x" % ord(mark))
    return text
