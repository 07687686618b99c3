# SPDX-License-Identifier: MIT
"""Lets an application import m0pub where none is installed: from the engine, as all of ours."""

import sys
from importlib.machinery import ModuleSpec


MODULES = ("m0pub", "m0pub.__main__", "m0pub._client", "m0pub._engine",
           "m0pub._errors", "m0pub._find", "m0pub._sql", "m0pub._wire")


def install():
    """Looks behind all other places, so that an installed m0pub comes first. The sources are
    read here: a forked child must not ask the engine."""
    for name in MODULES:
        Finder.sources[name] = native.source(name)
    sys.meta_path.append(Finder)


class Finder:
    """Finds and loads the package m0pub and its modules."""

    sources = {}

    @classmethod
    def find_spec(cls, name, path=None, target=None):
        if name not in cls.sources:
            return None
        return ModuleSpec(name, cls, origin=where(name), is_package=name == "m0pub")

    @staticmethod
    def create_module(spec):
        return None

    @classmethod
    def exec_module(cls, module):
        module.__file__ = where(module.__name__)
        exec(compile(cls.get_source(module.__name__), module.__file__, "exec"), module.__dict__)

    @classmethod
    def get_source(cls, name):
        """What tracebacks take their lines from."""
        return cls.sources[name]


def where(name):
    """What tracebacks show."""
    return "<m0serve>/" + name + ".py"
