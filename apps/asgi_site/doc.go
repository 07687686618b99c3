// SPDX-License-Identifier: MIT

// Package asgisite is the suite of ASGI: applications in Python (a bare one, Starlette,
// FastAPI, Django with Channels) and the tests that talk to them through a server over raw
// sockets. What a case asks for is in its name and in the comment of its group; the text of
// the specifications (asgiref: HTTP and WebSocket 2.5, lifespan 2.0, extensions) decides.
//
// The server is m0serve. M0_SUITE_SERVER=uvicorn or hypercorn runs the same cases against
// those, which is how the suite was checked before the server existed; what they are known
// to get wrong is listed by case in testdata/faults. Each group runs on asyncio and on uvloop.
//
// Limits: HTTP/1.1 only, one worker but where a case says otherwise, Linux.
package asgisite
