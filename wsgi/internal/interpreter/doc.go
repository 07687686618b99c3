// SPDX-License-Identifier: MIT

// Package interpreter finds the Python that m0serve serves with and says what
// it is (contract row W7).
//
// The first of these that is there is taken: --python or M0_PYTHON, --venv or
// VIRTUAL_ENV, the Python that m0serve is installed for (which the script of the
// wheel hands on, or which lies beside the command), ./.venv, python3 on PATH.
// Where the choice was somebody's, a Python that does not work is refused and no
// other one is looked for; on PATH the next one is tried. The interpreter is run
// once, with a small script and a bound on its time, so that the answer is its
// own: a pyenv shim names the interpreter behind it, a virtual environment its
// base.
//
// Find refuses what cannot serve: other implementations than CPython, versions
// before 3.9, broken virtual environments. What only one way of serving needs
// is asked for by Hosted (ctypes) and Libpython (a shared library).
//
// The package starts no worker, imports no application and keeps no process.
package interpreter
