# SPDX-License-Identifier: MIT
"""The application under wsgiref.validate, for servers that cannot wrap it themselves."""

from wsgiref.validate import validator

from app import app

validated = validator(app)
