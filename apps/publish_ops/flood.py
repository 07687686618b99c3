# SPDX-License-Identifier: MIT
"""Publishes numbers, one by one, until its input ends. Each line says what became of one:
the number, and its id, or what nobody knows."""

import sys
import threading

import m0pub

PAUSE = 0.005  # seconds: what a stream of Django keeps up with

over = threading.Event()
threading.Thread(target=lambda: (sys.stdin.read(), over.set()), daemon=True).start()
number = 0
while not over.wait(PAUSE):
    try:
        outcome = m0pub.publish("flood", str(number))
    except m0pub.Unanswered:
        outcome = "unanswered"
    print(number, outcome, flush=True)
    number += 1
