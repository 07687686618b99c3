# SPDX-License-Identifier: MIT
"""What an application may do to its process: children, threads, signals, waiting."""

import ctypes
import gc
import http.client
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time

from bare.kit import as_json, note, text

SERVER_GONE = 10  # seconds that a call to ourselves may take


def reentrant(environ, start_response, q):
    """Ask ourselves over HTTP, depth times deep."""
    port = int(environ["SERVER_PORT"])
    depth = q.number("depth", 1)
    path = "/reentrant?depth=%d" % (depth - 1) if depth > 1 else "/hello"
    conn = http.client.HTTPConnection("127.0.0.1", port, timeout=SERVER_GONE)
    try:
        conn.request("GET", path)
        answer = conn.getresponse()
        content = answer.read()
    finally:
        conn.close()
    return text(start_response, "%d %s" % (answer.status, content.decode("latin-1")))


def frozen(environ, start_response, q):
    """Say how many objects the collector leaves alone."""
    return text(start_response, str(gc.get_freeze_count()))


def child(environ, start_response, q):
    """Run a program and answer with what it printed."""
    done = subprocess.run(
        [sys.executable, "-c", "import os; print('child', os.environ.get('BARE_CHILD'))"],
        env={**os.environ, "BARE_CHILD": "yes"}, stdout=subprocess.PIPE, check=True)
    return text(start_response, done.stdout.decode("latin-1").strip())


def child_mask(environ, start_response, q):
    """Show which signals a program that we start has blocked and ignores."""
    done = subprocess.run(["cat", "/proc/self/status"], stdout=subprocess.PIPE, check=True)
    lines = dict(line.split(":", 1) for line in done.stdout.decode().splitlines())
    return as_json(start_response, {
        "blocked": int(lines["SigBlk"], 16), "ignored": int(lines["SigIgn"], 16)})


def child_files(environ, start_response, q):
    """Show what a program that we start inherits beside its three streams."""
    code = ("import os\nfor n in os.listdir('/proc/self/fd'):\n"
            "  if int(n) > 2:\n"
            "    try: print(os.readlink('/proc/self/fd/' + n))\n"
            "    except OSError: pass\n")
    done = subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE,
                          close_fds=False, check=True)
    return as_json(start_response, done.stdout.decode().split())


def child_environment(environ, start_response, q):
    return as_json(start_response, sorted(k for k in os.environ if k.startswith(q("prefix"))))


def system(environ, start_response, q):
    return text(start_response, "%d" % os.WEXITSTATUS(os.system("exit 7")))


def preexec(environ, start_response, q):
    done = subprocess.run(["true"], preexec_fn=os.setsid)
    return text(start_response, "%d" % done.returncode)


def many(environ, start_response, q):
    """Run programs at the same time from several threads."""
    codes = []

    def run(n):
        codes.append(subprocess.run(["sh", "-c", "exit %d" % n]).returncode)

    threads = [threading.Thread(target=run, args=(n,)) for n in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    return as_json(start_response, sorted(codes))


def fork(environ, start_response, q):
    """Fork, and wait for a child that leaves at once."""
    pid = os.fork()
    if pid == 0:
        os._exit(7)
    return text(start_response, "%d" % os.WEXITSTATUS(os.waitpid(pid, 0)[1]))


def fork_signal(environ, start_response, q):
    """Fork a child that sleeps, and say which signal ended it after SIGTERM."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.write(writing, b"!")
        time.sleep(5)
        os._exit(9)
    os.read(reading, 1)
    os.close(reading)
    os.close(writing)
    os.kill(pid, signal.SIGTERM)
    status = os.waitpid(pid, 0)[1]
    if os.WIFSIGNALED(status):
        return text(start_response, "signal %d" % os.WTERMSIG(status))
    return text(start_response, "exit %d" % os.WEXITSTATUS(status))


def fork_stays(environ, start_response, q):
    """Fork a child that outlives the request; the suite ends it by its pid."""
    pid = os.fork()
    if pid == 0:
        null = os.open(os.devnull, os.O_RDWR)
        for n in range(3):
            os.dup2(null, n)
        time.sleep(60)
        os._exit(0)
    return text(start_response, "%d" % pid)


def _twice(n):
    return 2 * n


def pool(environ, start_response, q):
    """Compute in a process of multiprocessing, started as the query asks."""
    context = multiprocessing.get_context(q("start", "fork"))
    with context.Pool(1) as workers:
        return text(start_response, "%d" % workers.apply(_twice, (21,)))


def thread(environ, start_response, q):
    """Do the work on a thread of our own."""
    got = []
    worker = threading.Thread(target=lambda: got.append(threading.current_thread().name))
    worker.start()
    worker.join()
    return text(start_response, "%d" % len(got))


def background(environ, start_response, q):
    """Leave a thread behind that goes on after the answer."""
    def run():
        for i in range(3):
            time.sleep(0.02)
            note(q("id"), "tick %d" % i)

    threading.Thread(target=run, daemon=q("daemon", "yes") == "yes").start()
    return text(start_response, "started")


def lingering(environ, start_response, q):
    """Leave a thread that is no daemon and works for `s` seconds."""
    threading.Thread(target=time.sleep, args=(q.number("s", 60),), daemon=False).start()
    return text(start_response, "started")


def pipe_thread(environ, start_response, q):
    """Write into a broken pipe on a thread that the server did not make."""
    got = []

    def run():
        reading, writing = os.pipe()
        os.close(reading)
        try:
            os.write(writing, b"x")
        except OSError as err:
            got.append(type(err).__name__)
        os.close(writing)

    worker = threading.Thread(target=run)
    worker.start()
    worker.join()
    return text(start_response, " ".join(got))


_local = threading.local()


def local(environ, start_response, q):
    """Count the requests of this thread in what only it sees."""
    _local.count = getattr(_local, "count", 0) + 1
    return as_json(start_response, [threading.get_ident(), _local.count])


def take_signal(environ, start_response, q):
    """Ask for a signal in a view. Not every thread may; it must not be the end."""
    number = getattr(signal, q("name", "SIGUSR1"))
    try:
        signal.signal(number, lambda n, frame: note("signal", str(n)))
    except ValueError as err:
        return text(start_response, "ValueError %s" % err)
    return text(start_response, "taken")


def send_signal(environ, start_response, q):
    os.kill(os.getpid(), getattr(signal, q("name", "SIGUSR1")))
    return text(start_response, "sent")


def alarm(environ, start_response, q):
    """Sleep over signals that arrive meanwhile (PEP 475)."""
    begin = time.monotonic()
    time.sleep(0.1)
    return text(start_response, "slept" if time.monotonic() - begin >= 0.099 else "woken")


def sleep(environ, start_response, q):
    note(q("id"), "begin")
    time.sleep(q.number("ms") / 1000)
    note(q("id"), "end")
    return text(start_response, "slept")


def spin(environ, start_response, q):
    """Compute without a pause, letting others run as Python does."""
    note(q("id"), "begin")
    end = time.monotonic() + q.number("ms") / 1000
    while time.monotonic() < end:
        pass
    note(q("id"), "end")
    return text(start_response, "spun")


def hold(environ, start_response, q):
    """Sleep in C without letting go of the interpreter."""
    ctypes.PyDLL(None).usleep(q.number("ms") * 1000)
    return text(start_response, "held")


def variable(environ, start_response, q):
    return as_json(start_response, os.environ.get(q("name")))


def pid(environ, start_response, q):
    return text(start_response, "%d" % os.getpid())


def interpreter(environ, start_response, q):
    return as_json(start_response, {
        "executable": sys.executable, "prefix": sys.prefix, "argv": sys.argv,
        "version": list(sys.version_info[:3]), "path": sys.path,
        "main": sys.modules["__main__"].__name__,
        "thread": threading.current_thread() is threading.main_thread(),
        "encoding": sys.getfilesystemencoding(),
    })


def leave(environ, start_response, q):
    """End the process as no server expects: at once, or by a crash."""
    note(q("id"), "begin")
    if q("how") == "crash":
        ctypes.string_at(0)
    if q("how") == "abort":
        os.abort()
    if q("how") == "thread-crash":
        threading.Thread(target=ctypes.string_at, args=(0,)).start()
        time.sleep(5)
    os._exit(q.number("code", 3))


def at_exit(environ, start_response, q):
    """Ask for a line in the log when the process ends in order."""
    import atexit
    atexit.register(lambda: print("BARE atexit", flush=True))
    return text(start_response, "registered")


def at_import(how):
    """Do what some applications do while they are imported."""
    if how == "error":
        raise RuntimeError("BARE import failed")
    if how == "exit":
        sys.exit(5)
    if how == "thread":
        threading.Thread(target=time.sleep, args=(60,), daemon=True).start()


ROUTES = {
    "/reentrant": reentrant,
    "/child": child,
    "/child/mask": child_mask,
    "/frozen": frozen,
    "/child/files": child_files,
    "/child/environment": child_environment,
    "/child/system": system,
    "/child/preexec": preexec,
    "/child/many": many,
    "/fork": fork,
    "/fork/signal": fork_signal,
    "/fork/stays": fork_stays,
    "/pool": pool,
    "/thread": thread,
    "/thread/background": background,
    "/thread/lingering": lingering,
    "/thread/pipe": pipe_thread,
    "/local": local,
    "/signal/take": take_signal,
    "/signal/send": send_signal,
    "/signal/sleep": alarm,
    "/sleep": sleep,
    "/spin": spin,
    "/hold": hold,
    "/variable": variable,
    "/pid": pid,
    "/interpreter": interpreter,
    "/leave": leave,
    "/atexit": at_exit,
}
