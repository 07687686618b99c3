-- SPDX-License-Identifier: MIT
-- A body of 1 MB, sent with every request.
wrk.method = "POST"
wrk.headers["Content-Type"] = "application/octet-stream"
wrk.body = string.rep("x", 1048576)
