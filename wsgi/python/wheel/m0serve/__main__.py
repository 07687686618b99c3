# SPDX-License-Identifier: MIT
"""python -m m0serve is the command m0serve of this interpreter."""

import sys

from m0serve import main

sys.exit(main())
