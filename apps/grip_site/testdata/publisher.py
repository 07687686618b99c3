# SPDX-License-Identifier: MIT
"""gripcontrol's own publisher in a process that knows no Django, waiting for each
answer, then in batches. Argument: a channel."""

import os
import sys

from gripcontrol import GripPubControl, parse_grip_uri

channel = sys.argv[1]
pub = GripPubControl(parse_grip_uri(os.environ["GRIP_URL"]))
for n in range(1, 26):
    pub.publish_http_stream(channel, f"blocking {n}\n", blocking=True)

failures = []
for n in range(1, 201):
    pub.publish_http_stream(
        channel, f"batched {n}\n", callback=lambda ok, why: ok or failures.append(why))
pub.wait_all_sent()
if failures:
    sys.exit(f"{len(failures)} failed: {failures[0]}")
pub.publish_http_stream(channel, "end\n", blocking=True)
