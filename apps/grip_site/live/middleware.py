# SPDX-License-Identifier: MIT
"""Answers name the process that made them."""

import os


class NameWorker:
    def __init__(self, get_response):
        self.get_response = get_response

    def __call__(self, request):
        response = self.get_response(request)
        response["X-Worker"] = str(os.getpid())
        return response
