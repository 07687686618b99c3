# SPDX-License-Identifier: MIT
"""The smallest Flask application."""

from flask import Flask

app = Flask(__name__)


@app.route("/")
def hello():
    return "Hello, world!"
