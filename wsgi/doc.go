// SPDX-License-Identifier: MIT

// Package wsgi is the place of m0serve, a server for Python applications; it holds
// nothing but this comment. What there is lies below:
//
//	cmd/m0serve            the command, and the same package as a library
//	serve                  the life of supervisor and worker, where all of it meets
//	python                 the Python that travels inside the engine, as text
//	python/wheel           the Python that the wheel installs
//	doctor                 explains what would be served
//	internal/python        CPython by dlsym; the only cgo
//	internal/interpreter   finds the Python to serve with
//	internal/options       flags and environment
//	internal/accesslog     a line for every answer
//	internal/forwarded     what proxies say, from those that are trusted
//	internal/metrics       OpenMetrics of all workers
//
// The model: a supervisor without Python starts workers that are the user's own
// python executables. Each loads the engine of m0serve.dev/http as a shared
// library, and one thread is the event loop and runs the application, without a
// queue between the two; when a view takes long another thread takes the loop over.
// The same code serves with libpython inside the command (W1.embedded).
//
// Linux with glibc and CPython 3.9 or newer are what it is for. Elsewhere, and
// without cgo, the module builds to a command that says what is missing. It does
// not end TLS, speak HTTP/2 or finalize an interpreter.
//
// # Where the time goes
//
// Microseconds of processor a request, on a quiet AMD EPYC with the server on one core and the
// load on another, 32 connections, CPython 3.11; by perf record -e cpu-clock -g on the worker.
// The verb "bench wsgi" of the tools measures beside other servers.
//
//	                          all   Python   kernel                     engine and shim
//	bare hello                6.5      0.5      4.9: 3.6 send, 0.8 receive           1.0
//	Flask, route and string    45       36      7.4: 5.2 send, 1.0 receive           1.8
//	Django, page of 10 KB    3020     2920       70                                   26
//
// Shares of the same, of a busy machine: a WebSocket message of 64 bytes sent back takes 57 % in
// the kernel (41 send, 7 receive), 27 % in Python with asyncio and its event loop, 14 % in engine
// and shim. The engine is told of messages that were taken 32 at a time, and calls that cannot
// block tell Go's scheduler nothing. To step a task from here, without the event loop, was tried:
// an awaitable of Python's own takes 2.6 µs where the future takes 1.7. A body of 1 MB sent back
// took 62 % in the kernel, 30 of them its two copies, and 25 % in three copies of ours: to bytes,
// to the answer, and behind its head. The last of them is gone.
//
// What a bare answer cost beside that of bjoern was in many places: a look at the clock, an
// allocation for the peer's address, the fields of the answer walked through three times,
// cgo's search for pointers, the kernel's way of read and write through files. Without them,
// on a machine whose cores are shared by thirty others, bjoern takes 1.12 times the processor
// of ours (1.05 before), in turns of 150 ms, 100 of each; seven tenths are the kernel's, and
// batches of 32 instead of 16 changed nothing. For Flask it takes 0.93 times ours there: the
// answer is an iterable, whose piece crosses to Go by itself (1 %), Go's own threads wake
// (2 %), and our code has left the caches behind so much Python. A page of more than 4 ms loses
// the loop each time, with ten switches of threads, which cost it 2 %; let alone for 24 ms while
// nobody waited it did not, and a file that was asked for in that time came late.
//
// Beside others, on a machine at rest whose cores are others' as well, in requests or messages
// a second: a WebSocket message sent back 1.72 times uvicorn's, an ASGI answer 1.54 to 2.40 in
// three runs, a FastAPI document 1.26 and 1.47; quick views beside slow ones 19 times gunicorn's;
// a megabyte sent back 2.17 times bjoern's, Django 0.97 to 1.25, a bare answer 0.88 to 1.13,
// Flask 0.97 to 1.08; the page 0.94 of the view in a loop without a server where bjoern's was
// 0.98, and 0.68 where its was 0.80.
//
// What is Python's is the application's: the view called in a loop without a server takes as
// long. A send and a receive over TCP are the floor of whoever answers each request. Answers
// that are ready at the same moment are sent together, sixteen at most, since a client that
// is woken for each costs more than the view; what has been loaded is frozen for Python's
// collector; Go's sysmon, which woke up to 3,000 times a second, rests.
//
// # Where the memory goes
//
// MB of Pss, of a worker that has answered a bare application once (CPython 3.11), by smaps;
// the interpreter alone, asleep, has 3.9 of which nearly all is here too:
//
//	                                         worker   supervisor
//	Python: interpreter and modules             6.1            0
//	Go and C: heap, stacks                      2.6          1.5
//	engine: addresses put in at the start       1.1          0.1
//	engine: code                                2.1          1.5
//	engine: tables of code and types            2.8          1.1
//
// Clean pages of a file are counted for the one process that has them and shared out among
// several workers; they come 64 KB at a time, so that code of a megabyte that is called here
// and there takes two. What only the start needs is let go of before a worker says that it is
// ready (4 MB of a worker, 5 of the supervisor), and a worker does without inspect (1 MB, and
// 12 ms of its start). Two of the MB of Python are traceback, threading, json and signal with
// what they import, which nearly every application has anyway; traceback is there ahead of the
// first failure, whose answer would wait 15 ms for it. The heap of Go has 0.7 MB in use.
package wsgi
