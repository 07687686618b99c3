# SPDX-License-Identifier: MIT
"""The routes of the bare application that use the event loop, threads and processes."""

import asyncio
import contextvars
import os
import signal
import socket
import subprocess
import sys
import threading
import time

from suite import gate_of, note, reply, reply_json

WHO = contextvars.ContextVar("who", default="nobody")


async def sleep(scope, receive, send, query):
    """A coroutine that waits as it should."""
    await asyncio.sleep(float(query["s"]))
    await reply(send, b"slept\n")


async def block(scope, receive, send, query):
    """A coroutine that blocks the loop."""
    note(query.get("t", ""), "blocks")
    time.sleep(float(query["s"]))
    await reply(send, b"blocked\n")


async def spin(scope, receive, send, query):
    """A coroutine that computes without a pause."""
    end = time.monotonic() + float(query["s"])
    while time.monotonic() < end:
        pass
    await reply(send, b"spun\n")


async def executor(scope, receive, send, query):
    """Work on another thread, which knows its caller's context only if it is handed over."""
    loop = asyncio.get_running_loop()
    name = await loop.run_in_executor(None, lambda: threading.current_thread().name)
    same = name == threading.current_thread().name
    await reply_json(send, {"other_thread": not same})


async def threadsafe(scope, receive, send, query):
    """A thread wakes the loop; seconds until it did."""
    loop = asyncio.get_running_loop()
    woken = loop.create_future()

    def wake():
        time.sleep(0.05)
        loop.call_soon_threadsafe(woken.set_result, time.monotonic())

    thread = threading.Thread(target=wake)
    thread.start()
    asked = await woken
    thread.join()
    await reply_json(send, {"late": time.monotonic() - asked})


async def context(scope, receive, send, query):
    """A context variable set by this request, read again once others have set theirs."""
    before = WHO.get()
    WHO.set(query["who"])
    await asyncio.sleep(0.05)
    child = await asyncio.create_task(read_who())
    await reply_json(send, {"before": before, "after": WHO.get(), "child": child})


async def read_who():
    """The variable as a task of the request sees it."""
    return WHO.get()


async def background(scope, receive, send, query):
    """Work that goes on behind the answer, past the end of the application's call."""
    async def later():
        await gate_of(query["t"]).wait()
        note(query["t"], "later done")

    task = asyncio.ensure_future(later())
    TASKS.add(task)
    task.add_done_callback(TASKS.discard)
    await reply(send, b"begun\n")


async def after(scope, receive, send, query):
    """Work behind the answer, within the application's call."""
    await reply(send, b"answered\n")
    await gate_of(query["t"]).wait()
    note(query["t"], "after done")


async def child(scope, receive, send, query):
    """A child process by ?by=: subprocess blocks, asyncio does not, fork is bare."""
    code = "import os, sys; sys.stdout.write('child of %d' % os.getppid())"
    if query["by"] == "run":
        out = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout
    elif query["by"] == "asyncio":
        made = await asyncio.create_subprocess_exec(
            sys.executable, "-c", code, stdout=asyncio.subprocess.PIPE)
        out, _ = await made.communicate()
    else:
        reader, writer = os.pipe()
        pid = os.fork()
        if pid == 0:
            os.write(writer, b"child of %d" % os.getppid())
            os._exit(0)
        os.waitpid(pid, 0)
        out = os.read(reader, 100)
        os.close(reader)
        os.close(writer)
    await reply_json(send, {"said": out.decode(), "want": "child of %d" % os.getpid()})


async def orphan(scope, receive, send, query):
    """A child that outlives its request: what it inherited, and that TERM ends it."""
    code = ("import os, sys, signal, time\n"
            "print(signal.getsignal(signal.SIGTERM) == signal.SIG_DFL, flush=True)\n"
            "time.sleep(60)\n")
    made = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE)
    default = made.stdout.readline().strip().decode()
    made.send_signal(signal.SIGTERM)
    code = made.wait(10)
    made.stdout.close()
    await reply_json(send, {"default_term": default, "status": code})


async def inherited(scope, receive, send, query):
    """The sockets that a child of the application inherits: none."""
    code = ("import os\nfound = []\n"
            "for fd in os.listdir('/proc/self/fd'):\n"
            "    try:\n        name = os.readlink('/proc/self/fd/' + fd)\n"
            "    except OSError:\n        continue\n"
            "    if int(fd) > 2 and name.startswith('socket:'):\n        found.append(fd)\n"
            "print(len(found))\n")
    made = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True,
                          close_fds=False)
    await reply_json(send, {"sockets": int(made.stdout)})


async def reentrant(scope, receive, send, query):
    """The application calls itself over HTTP, from the loop and from a thread."""
    host, port = scope["server"][:2]
    request = b"GET /about HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"

    def by_thread():
        with socket.create_connection((host, port), 5) as link:
            link.sendall(request)
            return link.makefile("rb").readline()

    reader, writer = await asyncio.open_connection(host, port)
    writer.write(request)
    inline = await reader.readline()
    writer.close()
    threaded = await asyncio.get_running_loop().run_in_executor(None, by_thread)
    await reply_json(send, [inline.decode().strip(), threaded.decode().strip()])


async def reader(scope, receive, send, query):
    """The loop watches a descriptor of the application's own."""
    loop = asyncio.get_running_loop()
    ours, theirs = socket.socketpair()
    came = loop.create_future()
    loop.add_reader(ours.fileno(), lambda: came.set_result(ours.recv(10)))
    theirs.send(b"ping")
    got = await came
    loop.remove_reader(ours.fileno())
    ours.close()
    theirs.close()
    await reply(send, got)


async def thread_facts(scope, receive, send, query):
    """Where the application runs."""
    main = threading.current_thread() is threading.main_thread()
    task = asyncio.current_task()
    await reply_json(send, {"main": main, "task": task is not None})


async def signalled(scope, receive, send, query):
    """The application handles a signal of its own."""
    got = asyncio.Event()
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGWINCH, got.set)
    os.kill(os.getpid(), signal.SIGWINCH)
    await asyncio.wait_for(got.wait(), 5)
    loop.remove_signal_handler(signal.SIGWINCH)
    await reply(send, b"handled\n")


async def exact_timer(scope, receive, send, query):
    """How late a timer of 20 ms is."""
    begun = time.monotonic()
    await asyncio.sleep(0.02)
    await reply_json(send, {"took": time.monotonic() - begun})


async def orphan_error(scope, receive, send, query):
    """A task of the application fails, and nobody waits for it."""
    async def failing():
        raise RuntimeError("nobody waits for me")

    asyncio.ensure_future(failing())
    await asyncio.sleep(0)
    await reply(send, b"begun\n")


TASKS = set()
ROUTES = {
    "sleep": sleep, "block": block, "spin": spin, "executor": executor, "wake": threadsafe,
    "context": context, "background": background, "after": after, "child": child,
    "orphan": orphan, "inherited": inherited, "reentrant": reentrant, "reader": reader,
    "thread": thread_facts, "signal": signalled, "timer": exact_timer,
    "orphan_error": orphan_error,
}
