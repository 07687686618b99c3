// SPDX-License-Identifier: MIT
//go:build linux

// ASGI: news come in as a list of tuples, one crossing a turn; what the
// application sends goes out by one crossing each.

#include <stdlib.h>
#include <string.h>

#include "shim.h"

// The keys of a scope, interned once.
enum {
	S_METHOD, S_PATH, S_RAW_PATH, S_QUERY, S_VERSION, S_SCHEME, S_CLIENT, S_HEADERS,
	S_SUBPROTOCOLS, S_KEYS,
};

static PyObject *key_of[S_KEYS], *base_http, *base_websocket;

// Names of header fields come again and again; they are kept as bytes.
enum { NAMES = 512, NAME_LEN = 40 };

static struct {
	char text[NAME_LEN];
	size_t len;
	PyObject *bytes;
} names[NAMES];

int m0_asgi_init(void)
{
	static const char *const keys[S_KEYS] = {
		"method", "path", "raw_path", "query_string", "http_version", "scheme", "client",
		"headers", "subprotocols",
	};
	for (int i = 0; i < S_KEYS; i++)
		if (!(key_of[i] = PyUnicode_InternFromString(keys[i])))
			return -1;
	PyObject *http = PyUnicode_InternFromString("http");
	PyObject *websocket = PyUnicode_InternFromString("websocket");
	base_http = PyDict_GetItemWithError(m0_base, http);
	base_websocket = PyDict_GetItemWithError(m0_base, websocket);
	if (!base_http || !base_websocket) {
		PyErr_SetString(PyExc_ValueError, "start: base needs \"http\" and \"websocket\"");
		return -1;
	}
	return 0;
}

typedef struct {
	const char *at, *end;
} reader;

static uint32_t take_int(reader *r)
{
	uint32_t n;
	memcpy(&n, r->at, sizeof n);
	r->at += sizeof n;
	return n;
}

typedef struct {
	const char *at;
	Py_ssize_t len;
} span;

static span take_text(reader *r)
{
	span s;
	s.len = take_int(r);
	s.at = r->at;
	r->at += s.len;
	return s;
}

static PyObject *take_bytes(reader *r)
{
	span s = take_text(r);
	return PyBytes_FromStringAndSize(s.at, s.len);
}

static PyObject *take_latin1(reader *r)
{
	span s = take_text(r);
	return PyUnicode_DecodeLatin1(s.at, s.len, NULL);
}

static PyObject *take_utf8(reader *r)
{
	span s = take_text(r);
	return PyUnicode_DecodeUTF8(s.at, s.len, "replace");
}

static PyObject *name_bytes(span s)
{
	if (s.len > NAME_LEN)
		return PyBytes_FromStringAndSize(s.at, s.len);
	uint32_t hash = 2166136261u;
	for (Py_ssize_t i = 0; i < s.len; i++)
		hash = (hash ^ (uint8_t)s.at[i]) * 16777619u;
	size_t i = (hash ^ hash >> 15) % NAMES;
	if (names[i].bytes && names[i].len == (size_t)s.len && !memcmp(names[i].text, s.at, s.len)) {
		Py_IncRef(names[i].bytes);
		return names[i].bytes;
	}
	PyObject *bytes = PyBytes_FromStringAndSize(s.at, s.len);
	if (bytes && !names[i].bytes) { // the first of a slot stays
		Py_IncRef(bytes);
		memcpy(names[i].text, s.at, (size_t)s.len);
		names[i].len = (size_t)s.len;
		names[i].bytes = bytes;
	}
	return bytes;
}

// drop gives a reference back, if there is one.
static void drop(PyObject *object)
{
	if (object)
		Py_DecRef(object);
}

// pair_of makes a tuple of two objects, whose references it takes.
static PyObject *pair_of(PyObject *a, PyObject *b)
{
	PyObject *pair = a && b ? PyTuple_New(2) : NULL;
	if (!pair) {
		drop(a);
		drop(b);
		return NULL;
	}
	PyTuple_SetItem(pair, 0, a);
	PyTuple_SetItem(pair, 1, b);
	return pair;
}

static PyObject *take_headers(reader *r)
{
	uint32_t n = take_int(r);
	PyObject *list = PyList_New((Py_ssize_t)n);
	for (uint32_t i = 0; list && i < n; i++) {
		PyObject *name = name_bytes(take_text(r));
		PyObject *pair = pair_of(name, take_bytes(r));
		if (!pair) {
			Py_DecRef(list);
			return NULL;
		}
		PyList_SetItem(list, (Py_ssize_t)i, pair);
	}
	return list;
}

// put puts value, whose reference it takes, into a scope.
static int put(PyObject *scope, int key, PyObject *value)
{
	if (!value)
		return -1;
	int err = PyDict_SetItem(scope, key_of[key], value);
	Py_DecRef(value);
	return err;
}

static PyObject *take_client(reader *r)
{
	span host = take_text(r);
	uint32_t port = take_int(r);
	if (host.len == 0) {
		Py_IncRef(m0_none);
		return m0_none;
	}
	return pair_of(PyUnicode_DecodeLatin1(host.at, host.len, NULL), PyLong_FromLongLong(port));
}

static PyObject *take_strings(reader *r)
{
	uint32_t n = take_int(r);
	PyObject *list = PyList_New((Py_ssize_t)n);
	for (uint32_t i = 0; list && i < n; i++) {
		PyObject *str = take_latin1(r);
		if (!str) {
			Py_DecRef(list);
			return NULL;
		}
		PyList_SetItem(list, (Py_ssize_t)i, str);
	}
	return list;
}

static PyObject *take_scope(reader *r, int is_websocket)
{
	PyObject *scope = PyDict_Copy(is_websocket ? base_websocket : base_http);
	if (!scope)
		return NULL;
	if ((!is_websocket && put(scope, S_METHOD, take_latin1(r))) ||
	    put(scope, S_PATH, take_utf8(r)) || put(scope, S_RAW_PATH, take_bytes(r)) ||
	    put(scope, S_QUERY, take_bytes(r)) || put(scope, S_VERSION, take_latin1(r)) ||
	    put(scope, S_SCHEME, take_latin1(r)) || put(scope, S_CLIENT, take_client(r)) ||
	    put(scope, S_HEADERS, take_headers(r)) ||
	    (is_websocket && put(scope, S_SUBPROTOCOLS, take_strings(r)))) {
		Py_DecRef(scope);
		return NULL;
	}
	return scope;
}

// take_event makes the tuple of one event.
static PyObject *take_event(reader *r)
{
	PyObject *of[4] = {0};
	int n = 1;
	uint32_t kind = take_int(r);
	of[0] = PyLong_FromLongLong(kind);
	if (kind < M0_STOP)
		of[n++] = PyLong_FromLongLong(take_int(r));
	switch (kind) {
	case M0_REQUEST:
		of[n++] = take_scope(r, 0);
		if (take_int(r)) {
			of[n++] = take_bytes(r);
		} else {
			Py_IncRef(m0_none);
			of[n++] = m0_none;
		}
		break;
	case M0_DATA:
		of[n++] = take_bytes(r);
		of[n++] = PyBool_FromLong((long)take_int(r));
		break;
	case M0_CONNECT:
		of[n++] = take_scope(r, 1);
		break;
	case M0_MESSAGE:
		of[n++] = take_int(r) ? take_utf8(r) : take_bytes(r);
		break;
	case M0_CLOSED:
		of[n++] = PyLong_FromLongLong(take_int(r));
		of[n++] = take_utf8(r);
	}
	PyObject *event = PyTuple_New(n);
	int whole = !!event;
	for (int i = 0; i < n; i++)
		whole &= !!of[i];
	for (int i = 0; i < n; i++) {
		if (whole)
			PyTuple_SetItem(event, i, of[i]);
		else
			drop(of[i]);
	}
	if (whole)
		return event;
	drop(event);
	return NULL;
}

// The functions below are the event loop's: what they use is not locked.
static __thread int is_loop;

// refuse keeps out who may not call: 0, or -1 with an error set.
static int refuse(void)
{
	if (m0_refuse_in_child())
		return -1;
	if (is_loop)
		return 0;
	PyErr_SetString(PyExc_RuntimeError,
			"receive and send belong to the event loop: this is another thread");
	return -1;
}

// What is kept of the buffer of events, which a turn with many bodies makes long.
enum { EVENTS_KEEP = 1 << 20 };

static PyObject *asgi_turn(PyObject *self, PyObject *unused)
{
	(void)self, (void)unused;
	if (refuse())
		return NULL;
	static m0_events events; // the loop's thread is the only one
	m0GoTurn(&events);
	reader r = {events.data, events.data + events.len};
	PyObject *list = PyList_New(0);
	while (list && r.at < r.end) {
		PyObject *event = take_event(&r);
		if (!event || PyList_Append(list, event)) {
			drop(event);
			drop(list);
			list = NULL;
			break;
		}
		Py_DecRef(event);
	}
	if (events.cap > EVENTS_KEEP) {
		free(events.data);
		events = (m0_events){0};
	}
	return list;
}

static PyObject *asgi_attach(PyObject *self, PyObject *unused)
{
	(void)self, (void)unused;
	if (m0_refuse_in_child())
		return NULL;
	static int is_attached;
	int poller = -1, wakes = -1;
	if (is_attached || m0GoAttach(&poller, &wakes)) {
		PyErr_SetString(PyExc_RuntimeError,
				"attach: the server does not serve ASGI, or has its loop");
		return NULL;
	}
	is_loop = is_attached = 1;
	return pair_of(PyLong_FromLongLong(poller), PyLong_FromLongLong(wakes));
}

// A packer packs header fields for Go.
typedef struct {
	char *at;
	size_t len, cap;
} packer;

static packer fields; // the loop's thread is the only one

static int pack_bytes(PyObject *bytes)
{
	char *data;
	Py_ssize_t len;
	if (!bytes || PyBytes_AsStringAndSize(bytes, &data, &len))
		return -1;
	if (fields.len + (size_t)len > M0_HEAD_MAX) {
		PyErr_Format(PyExc_ValueError, "the headers are longer than %d bytes", M0_HEAD_MAX);
		return -1;
	}
	uint32_t n = (uint32_t)len;
	if (fields.len + sizeof n + n > fields.cap) {
		fields.cap = 2 * fields.cap + n + 256;
		if (!(fields.at = realloc(fields.at, fields.cap)))
			abort();
	}
	memcpy(fields.at + fields.len, &n, sizeof n);
	memcpy(fields.at + fields.len + sizeof n, data, n);
	fields.len += sizeof n + n;
	return 0;
}

static unsigned long flags_of(PyObject *object)
{
	PyObject *type = PyObject_Type(object);
	unsigned long flags = PyType_GetFlags(type);
	Py_DecRef(type);
	return flags;
}

static int pack_pair(PyObject *pair)
{
	unsigned long flags = flags_of(pair);
	if (flags & TYPE_TUPLE && PyTuple_Size(pair) == 2)
		return pack_bytes(PyTuple_GetItem(pair, 0)) || pack_bytes(PyTuple_GetItem(pair, 1));
	if (flags & TYPE_LIST && PyList_Size(pair) == 2)
		return pack_bytes(PyList_GetItem(pair, 0)) || pack_bytes(PyList_GetItem(pair, 1));
	PyErr_Format(PyExc_TypeError, "a header must be a pair of bytes, not %R", pair);
	return -1;
}

// pack_headers fills fields from any iterable of pairs.
static int pack_headers(PyObject *headers)
{
	fields.len = 0;
	if (fields.cap > M0_KEEP_MAX) {
		free(fields.at);
		fields = (packer){0};
	}
	if (headers == m0_none)
		return 0;
	PyObject *it = PyObject_GetIter(headers), *pair;
	if (!it)
		return -1;
	int err = 0;
	while (!err && (pair = PyIter_Next(it))) {
		err = pack_pair(pair);
		Py_DecRef(pair);
	}
	Py_DecRef(it);
	return err || PyErr_Occurred() ? -1 : 0;
}

static long long int_at(PyObject *args, Py_ssize_t i)
{
	return PyLong_AsLongLong(PyTuple_GetItem(args, i));
}

// arguments checks how many there are, and that we may go on. The first one is
// always a token.
static int arguments(PyObject *args, Py_ssize_t n, const char *usage, uint32_t *token)
{
	if (refuse())
		return -1;
	if (PyTuple_Size(args) != n) {
		PyErr_SetString(PyExc_TypeError, usage);
		return -1;
	}
	*token = (uint32_t)int_at(args, 0);
	return PyErr_Occurred() ? -1 : 0;
}

// A view is the bytes of an argument; made is a copy, when one was needed.
typedef struct {
	char *at;
	Py_ssize_t len;
	PyObject *made;
} view;

static int view_at(PyObject *args, Py_ssize_t i, view *v)
{
	PyObject *object = PyTuple_GetItem(args, i);
	v->made = NULL;
	if (!(flags_of(object) & TYPE_BYTES)) {
		if (flags_of(object) & TYPE_STR) {
			PyErr_SetString(PyExc_TypeError, "a body must be bytes, not str");
			return -1;
		}
		if (!(object = v->made = PyObject_Bytes(object)))
			return -1;
	}
	return PyBytes_AsStringAndSize(object, &v->at, &v->len);
}

// result turns what Go said into what Python gets.
static PyObject *result(int of)
{
	switch (of) {
	case M0_GONE:
		PyErr_SetString(PyExc_OSError, "the client is gone");
		return NULL;
	case M0_INVALID:
		PyErr_SetString(PyExc_ValueError,
				"the answer is not valid: a status, or a header name or value");
		return NULL;
	}
	return PyBool_FromLong(of == M0_OK);
}

static PyObject *asgi_respond(PyObject *self, PyObject *args)
{
	(void)self;
	view body;
	uint32_t token;
	if (arguments(args, 5, "respond(token, status, headers, body, more)", &token))
		return NULL;
	long long status = int_at(args, 1);
	int more = PyObject_IsTrue(PyTuple_GetItem(args, 4));
	if (PyErr_Occurred() || view_at(args, 3, &body))
		return NULL;
	int of = pack_headers(PyTuple_GetItem(args, 2));
	if (!of)
		of = m0GoRespond(token, (int)status, fields.at, fields.len, body.at,
				 (size_t)body.len, more);
	drop(body.made);
	return PyErr_Occurred() ? NULL : result(of);
}

static PyObject *asgi_write(PyObject *self, PyObject *args)
{
	(void)self;
	view body;
	uint32_t token;
	if (arguments(args, 3, "write(token, body, more)", &token))
		return NULL;
	int more = PyObject_IsTrue(PyTuple_GetItem(args, 2));
	if (more < 0 || view_at(args, 1, &body))
		return NULL;
	int of = m0GoSend(token, body.at, (size_t)body.len, more);
	drop(body.made);
	return result(of);
}

static PyObject *with_headers(PyObject *args, const char *usage, int is_trailers)
{
	uint32_t token;
	if (arguments(args, 2, usage, &token) || pack_headers(PyTuple_GetItem(args, 1)))
		return NULL;
	return result(m0GoFields(token, fields.at, fields.len, is_trailers));
}

static PyObject *asgi_trailers(PyObject *self, PyObject *args)
{
	(void)self;
	return with_headers(args, "trailers(token, headers)", 1);
}

static PyObject *asgi_inform(PyObject *self, PyObject *args)
{
	(void)self;
	return with_headers(args, "inform(token, headers)", 0);
}

static PyObject *end(PyObject *args, const char *usage, int how)
{
	uint32_t token;
	if (arguments(args, 1, usage, &token))
		return NULL;
	m0GoEnd(token, how);
	Py_IncRef(m0_none);
	return m0_none;
}

static PyObject *asgi_want(PyObject *self, PyObject *args)
{
	(void)self;
	return end(args, "want(token)", M0_WANT);
}

static PyObject *asgi_finish(PyObject *self, PyObject *args)
{
	(void)self;
	return end(args, "finish(token)", M0_FINISH);
}

static PyObject *asgi_abort(PyObject *self, PyObject *args)
{
	(void)self;
	return end(args, "abort(token)", M0_ABORT);
}

static PyObject *asgi_ws_accept(PyObject *self, PyObject *args)
{
	(void)self;
	uint32_t token;
	if (arguments(args, 3, "ws_accept(token, subprotocol, headers)", &token) ||
	    pack_headers(PyTuple_GetItem(args, 2)))
		return NULL;
	PyObject *sub = PyTuple_GetItem(args, 1);
	const char *text = sub == m0_none ? "" : PyUnicode_AsUTF8AndSize(sub, NULL);
	if (!text)
		return NULL;
	return result(m0GoAccept(token, (char *)text, fields.at, fields.len));
}

static PyObject *asgi_room(PyObject *self, PyObject *args)
{
	(void)self;
	uint32_t token;
	if (arguments(args, 2, "room(token, n)", &token))
		return NULL;
	long long n = int_at(args, 1);
	if (PyErr_Occurred())
		return NULL;
	m0GoRoom(token, (int)n);
	Py_IncRef(m0_none);
	return m0_none;
}

static PyObject *asgi_ws_send(PyObject *self, PyObject *args)
{
	(void)self;
	uint32_t token;
	if (arguments(args, 2, "ws_send(token, data)", &token))
		return NULL;
	PyObject *data = PyTuple_GetItem(args, 1);
	view v = {0};
	int is_text = !!(flags_of(data) & TYPE_STR);
	if (is_text)
		v.at = (char *)PyUnicode_AsUTF8AndSize(data, &v.len);
	else if (view_at(args, 1, &v))
		return NULL;
	if (!v.at)
		return NULL;
	int of = m0GoSendMessage(token, v.at, (size_t)v.len, is_text);
	drop(v.made);
	return result(of);
}

static PyObject *asgi_ws_close(PyObject *self, PyObject *args)
{
	(void)self;
	uint32_t token;
	if (arguments(args, 3, "ws_close(token, code, reason)", &token))
		return NULL;
	long long code = int_at(args, 1);
	const char *reason = PyUnicode_AsUTF8AndSize(PyTuple_GetItem(args, 2), NULL);
	if (!reason || PyErr_Occurred())
		return NULL;
	return result(m0GoClose(token, (int)code, (char *)reason));
}

PyMethodDef m0_asgi_natives[] = {
	{"attach", asgi_attach, METH_NOARGS, NULL},
	{"turn", asgi_turn, METH_NOARGS, NULL},
	{"respond", asgi_respond, METH_VARARGS, NULL},
	{"write", asgi_write, METH_VARARGS, NULL},
	{"trailers", asgi_trailers, METH_VARARGS, NULL},
	{"inform", asgi_inform, METH_VARARGS, NULL},
	{"want", asgi_want, METH_VARARGS, NULL},
	{"finish", asgi_finish, METH_VARARGS, NULL},
	{"abort", asgi_abort, METH_VARARGS, NULL},
	{"ws_accept", asgi_ws_accept, METH_VARARGS, NULL},
	{"room", asgi_room, METH_VARARGS, NULL},
	{"ws_send", asgi_ws_send, METH_VARARGS, NULL},
	{"ws_close", asgi_ws_close, METH_VARARGS, NULL},
	{0},
};
