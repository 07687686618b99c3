# SPDX-License-Identifier: MIT
"""python -m m0pub CHANNEL DATA"""

from __future__ import annotations

import argparse
import sys

import m0pub

_EPILOG = """\
The service is the one that runs in this directory, or M0_PUBLISH_SOCKET names its socket.
Exit status: 0 published, 1 not published, 2 wrong arguments.

  python -m m0pub news hello
  date | python -m m0pub clock - --event tick
"""


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m m0pub",
        description="Publish one event to the streams of a service.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("channel")
    parser.add_argument("data", help="text of the event; - reads standard input")
    parser.add_argument("--event", metavar="NAME", help="type of the event; none: message")
    parser.add_argument("--id", help="what clients keep in place of the event's id")
    parser.add_argument("--socket", metavar="PATH", help="publish socket of the service")
    a = parser.parse_args()
    data = sys.stdin.read().removesuffix("\n") if a.data == "-" else a.data
    try:
        with m0pub.Publisher(a.socket) as publisher:
            print(publisher.publish(a.channel, data, event=a.event, id=a.id))
    except (m0pub.PublishError, ValueError) as error:
        print(error, file=sys.stderr)
        return 1
    return 0


sys.exit(main())
