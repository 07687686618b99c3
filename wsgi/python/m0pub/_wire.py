# SPDX-License-Identifier: MIT
"""Messages as bytes. The format is described in the Go package http/publish."""

from __future__ import annotations

import struct
from typing import NamedTuple, Optional, Union

from ._errors import Refused

MAGIC = b"m0p1"
HEAD = struct.Struct(">4sI")
_FIXED = struct.Struct(">BHHHI")  # form, lengths of channel, event, id and data
_OUTCOME = struct.Struct(">BQH")  # refused, id, length of the reason
_COUNT = struct.Struct(">H")

OVER = 1  # the first byte of an answer that ends the connection
DATA_MAX = 4 << 20  # of one message; the service's limit includes the event's fields
BATCH_MAX = 1024  # messages of a request
BATCH_BYTES = 1 << 20  # of a request with more than one message
ANSWER_MAX = 1 << 20


class Message(NamedTuple):
    """One event: what publish_many takes. `id`, where given, is what clients keep as
    their Last-Event-ID in place of the event's own id; whoever sets it has to answer
    clients that come back with it."""

    channel: str
    data: str
    event: Optional[str] = None
    id: Optional[Union[str, int]] = None


def encode(m: Message) -> bytes:
    """One message as bytes. What cannot be sent is refused here, in words."""
    texts = []
    for name, value in (("channel", m.channel), ("event", m.event), ("id", m.id)):
        texts.append(_text(name, value, 0xFFFF, optional=name != "channel"))
    texts.append(_text("data", m.data, DATA_MAX, optional=False))
    return _FIXED.pack(0, *map(len, texts)) + b"".join(texts)


def _text(name: str, value: object, most: int, optional: bool) -> bytes:
    if value is None and optional:
        return b""
    if name == "id" and isinstance(value, int) and not isinstance(value, bool):
        value = str(value)
    if not isinstance(value, str):
        hint = "; json.dumps makes one of most things" if name == "data" else ""
        raise TypeError(f"m0pub: {name} has to be a str, not {type(value).__name__}{hint}")
    try:
        raw = value.encode()
    except UnicodeEncodeError as error:
        raise ValueError(f"m0pub: {name} is not text: {error}") from None
    if len(raw) > most:
        raise Refused(f"m0pub: {name} has {len(raw)} bytes, at most {most}")
    return raw


def requests(encoded: list[bytes]) -> list[tuple[int, bytes]]:
    """Puts messages into requests that a service takes; each with its count."""
    done: list[tuple[int, bytes]] = []
    batch: list[bytes] = []
    size = 0
    for raw in encoded:
        if batch and (len(batch) == BATCH_MAX or size + len(raw) > BATCH_BYTES):
            done.append((len(batch), _request(batch)))
            batch, size = [], 0
        batch.append(raw)
        size += len(raw)
    if batch:
        done.append((len(batch), _request(batch)))
    return done


def _request(batch: list[bytes]) -> bytes:
    payload = _COUNT.pack(len(batch)) + b"".join(batch)
    return HEAD.pack(MAGIC, len(payload)) + payload


def outcomes(body: bytes, count: int) -> list[Union[int, str]]:
    """Reads the answer to a request: an id or a reason for each message."""
    result: list[Union[int, str]] = []
    at = 1
    while at < len(body):
        refused, number, size = _OUTCOME.unpack_from(body, at)
        at += _OUTCOME.size
        reason = body[at : at + size].decode("utf-8", "replace")
        result.append(reason if refused else number)
        at += size
    if len(result) != count or at != len(body):
        raise struct.error("not the answer to this request")
    return result
