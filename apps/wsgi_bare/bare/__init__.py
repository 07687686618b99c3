# SPDX-License-Identifier: MIT
"""The routes of the application, by subject."""
