# SPDX-License-Identifier: MIT
"""Publishes with the clients of GRIP, as their documentation shows it.

The arguments are the GRIP_URL of the service and its key. A line is printed for each
thing that went as it should.
"""

import sys
import threading

from gripcontrol import (
    GripPubControl, HttpResponseFormat, HttpStreamFormat, WebSocketMessageFormat, parse_grip_uri,
)
from pubcontrol import Item, PubControlClient

url, key = sys.argv[1:]
config = parse_grip_uri(url)


def event(text):
    return HttpStreamFormat(f"data: {text}\n\n")


grip = GripPubControl(config)
grip.publish("a", Item(event("token")), blocking=True)
print("token")

grip.publish("a", Item([
    event("formats"), HttpResponseFormat(body="formats\n"), WebSocketMessageFormat("formats"),
]), blocking=True)
print("formats")

grip.publish("a", Item(HttpStreamFormat(b"data: bytes \xf0\x9f\x9a\x80\n\n")), blocking=True)
print("bytes")

# Without blocking a thread publishes up to ten items in a request.
COUNT = 35
results = []
done = threading.Event()


def note(result, message):
    results.append((result, message))
    if len(results) == COUNT:
        done.set()


for i in range(COUNT):
    grip.publish("a", Item(event(f"batch {i}")), callback=note)
assert done.wait(10), results
assert all(result for result, _ in results), results
grip.close()
print("batches")

basic = PubControlClient(config["control_uri"])
basic.set_auth_basic("m0", key)
basic.publish("a", Item(event("basic")), blocking=True)
print("basic")

bearer = PubControlClient(config["control_uri"], auth_bearer=key)
bearer.publish("a", Item(event("bearer")), blocking=True)
print("bearer")

for auth, reason in (
    ({}, "Authorization is missing"),
    ({"auth_jwt_claim": {"iss": "m0"}, "auth_jwt_key": "w" * 32}, "not of this key"),
    ({"auth_jwt_claim": {"iss": "m1"}, "auth_jwt_key": key}, 'want "m0"'),
    ({"auth_jwt_claim": {"iss": "m0", "exp": 1}, "auth_jwt_key": key}, "expired"),
):
    try:
        PubControlClient(config["control_uri"], **auth).publish(
            "a", Item(event("forged")), blocking=True)
    except ValueError as e:
        assert "401" in str(e) and reason in str(e), e
    else:
        raise AssertionError(f"{auth} was believed")
print("strangers")

try:
    grip = GripPubControl(config)
    grip.publish("\1grip", Item(event("forged")), blocking=True)
except ValueError as e:
    assert "400" in str(e) and "reserved" in str(e), e
else:
    raise AssertionError("a reserved name was taken")
print("reserved")
