# SPDX-License-Identifier: MIT
"""Serves module:app with bjoern, which has no command: bjoern_run.py PORT APP."""

import importlib
import sys

import bjoern

port, target = sys.argv[1:]
module, _, name = target.partition(":")
bjoern.run(getattr(importlib.import_module(module), name), "127.0.0.1", int(port))
