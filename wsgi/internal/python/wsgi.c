// SPDX-License-Identifier: MIT
//go:build linux

// WSGI (PEP 3333): one request is one call from Go.

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shim.h"

// The names of environ's entries, interned once.
static PyObject *name_of[M0_PARTS];
static PyObject *name_input, *name_get;
static PyObject *type_list, *type_tuple, *bytes_io, *attr_close, *attr_region, *empty_args;

int m0_wsgi_init(void)
{
	static const char *const names[M0_PARTS] = {
		"REQUEST_METHOD", "PATH_INFO", "QUERY_STRING", "REQUEST_URI",
		"SERVER_PROTOCOL", "REMOTE_ADDR", "REMOTE_PORT", "wsgi.url_scheme",
	};
	for (int i = 0; i < M0_PARTS; i++)
		if (!(name_of[i] = PyUnicode_InternFromString(names[i])))
			return -1;
	name_input = PyUnicode_InternFromString("wsgi.input");
	attr_close = PyUnicode_InternFromString("close");
	attr_region = PyUnicode_InternFromString("region");
	name_get = PyUnicode_InternFromString("GET");
	PyObject *io = PyImport_ImportModule("io");
	bytes_io = io ? PyObject_GetAttrString(io, "BytesIO") : NULL;
	PyObject *list = PyList_New(0);
	empty_args = PyTuple_New(0);
	if (!bytes_io || !list || !empty_args || !name_input || !attr_close || !name_get)
		return -1;
	type_list = PyObject_Type(list);
	type_tuple = PyObject_Type(empty_args);
	return 0;
}

// A part is one string of a pack.
typedef struct {
	const char *at;
	size_t len;
} part;

static part next_part(const char **at)
{
	uint32_t len;
	memcpy(&len, *at, sizeof len);
	part p = {*at + sizeof len, len};
	*at = p.at + len;
	return p;
}

// Values that come again and again are kept, the last one of each part.
typedef struct {
	char at[64];
	size_t len;
	PyObject *str;
} kept_value;

// The keys of environ that header fields become, kept by name. A table is a
// thread's own, so that free-threaded interpreters share nothing.
enum { KEYS = 1024, KEYS_MAX = 512, NAME_MAX_LEN = 48 };

typedef struct {
	char name[NAME_MAX_LEN]; // lower case
	uint8_t len;
	uint8_t joins; // what duplicates are joined by
	uint8_t keeps; // value
	uint64_t serial; // of the request that has it last
	PyObject *key;
	kept_value value; // the last one, unless it is a secret
} key;

typedef struct {
	key keys[KEYS];
	int used;
	uint64_t serial;
	kept_value values[M0_PARTS];
	PyObject *base; // m0_base, and the last request's values
} memory;

static __thread memory *mem;

static char lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c | 0x20) : c;
}

enum { JOIN_COMMA, JOIN_COOKIE, JOIN_NONE };

// make_key makes the key that the field of that name has in environ. One that is not
// kept is not interned: from CPython 3.12 on an interned string never goes away, and
// clients choose the names.
static PyObject *make_key(const char *name, size_t len, int is_kept, uint8_t *joins)
{
	char text[8 + 256] = "HTTP_";
	size_t n = 5;
	if (len > 250)
		len = 250;
	if ((len == 12 && !memcmp(name, "content-type", 12)) ||
	    (len == 14 && !memcmp(name, "content-length", 14)))
		n = 0;
	*joins = n == 0 ? JOIN_NONE
		 : len == 6 && !memcmp(name, "cookie", 6) ? JOIN_COOKIE
							  : JOIN_COMMA;
	for (size_t i = 0; i < len; i++, n++) {
		char c = name[i];
		text[n] = c == '-' ? '_' : c >= 'a' && c <= 'z' ? (char)(c & ~0x20) : c;
	}
	text[n] = 0;
	if (!is_kept)
		return PyUnicode_DecodeLatin1(text, (Py_ssize_t)n, NULL);
	return PyUnicode_InternFromString(text);
}

// may_stay says whether the value of a field may stay: what lets a client in may not.
static int may_stay(const key *k)
{
	static const char *const secrets[] = {"cookie", "authorization", "proxy-authorization"};
	for (size_t i = 0; i < sizeof secrets / sizeof *secrets; i++)
		if (k->len == strlen(secrets[i]) && !memcmp(k->name, secrets[i], k->len))
			return 0;
	return 1;
}

// key_of finds or makes a key. One that cannot be kept comes in spare.
static key *key_of(part name, key *spare)
{
	char text[256];
	size_t len = name.len < sizeof text ? name.len : sizeof text;
	uint32_t hash = 2166136261u;
	for (size_t i = 0; i < len; i++) {
		text[i] = lower(name.at[i]);
		hash = (hash ^ (uint8_t)text[i]) * 16777619u;
	}
	key *k = spare;
	if (len <= NAME_MAX_LEN) {
		for (k = &mem->keys[hash % KEYS]; k->key; k = k == mem->keys + KEYS - 1 ? mem->keys : k + 1)
			if (k->len == len && !memcmp(k->name, text, len))
				return k;
		if (mem->used >= KEYS_MAX)
			k = spare;
	}
	k->serial = 0;
	k->len = (uint8_t)len;
	k->key = make_key(text, len, k != spare, &k->joins);
	if (k != spare && k->key) {
		memcpy(k->name, text, len);
		k->keeps = (uint8_t)may_stay(k);
		mem->used++;
	}
	return k->key ? k : NULL;
}

// set puts value, whose reference it takes, into environ.
static int set(PyObject *environ, PyObject *name, PyObject *value)
{
	if (!value)
		return -1;
	int err = PyDict_SetItem(environ, name, value);
	Py_DecRef(value);
	return err;
}

// set_part sets one of the request's own values in the thread's base, where the
// last one stays.
static int set_part(PyObject *base, int i, part p)
{
	kept_value *kept = &mem->values[i];
	if (kept->len == p.len && kept->str && p.len <= sizeof kept->at && !memcmp(kept->at, p.at, p.len))
		return 0;
	PyObject *str = PyUnicode_DecodeLatin1(p.at, (Py_ssize_t)p.len, NULL);
	if (!str)
		return -1;
	kept->len = p.len;
	if (p.len <= sizeof kept->at)
		memcpy(kept->at, p.at, p.len);
	kept->str = str; // base holds it
	return set(base, name_of[i], str);
}

// value_of is the str of a value, the last one's when it is the same.
static PyObject *value_of(key *k, part p)
{
	kept_value *kept = &k->value;
	if (kept->str && kept->len == p.len && !memcmp(kept->at, p.at, p.len)) {
		Py_IncRef(kept->str);
		return kept->str;
	}
	PyObject *str = PyUnicode_DecodeLatin1(p.at, (Py_ssize_t)p.len, NULL);
	if (str && k->keeps && p.len <= sizeof kept->at) {
		if (kept->str)
			Py_DecRef(kept->str);
		kept->str = str;
		kept->len = p.len;
		memcpy(kept->at, p.at, p.len);
		Py_IncRef(str);
	}
	return str;
}

// set_field sets what a header field becomes; fields of one name become one.
static int set_field(PyObject *environ, part name, part value)
{
	key spare = {0};
	key *k = key_of(name, &spare);
	if (!k)
		return -1;
	PyObject *str = value_of(k, value);
	PyObject *old = NULL;
	if (k->serial == mem->serial || k == &spare)
		old = PyDict_GetItemWithError(environ, k->key);
	if (old && str) {
		PyObject *both;
		if (k->joins == JOIN_NONE) {
			Py_IncRef(old);
			both = old;
		} else {
			both = PyUnicode_FromFormat(k->joins == JOIN_COOKIE ? "%U; %U" : "%U,%U", old, str);
		}
		Py_DecRef(str);
		str = both;
	}
	k->serial = mem->serial;
	int err = set(environ, k->key, str);
	if (k == &spare)
		Py_DecRef(k->key);
	return err;
}

// What a start_response, a write and a body belong to.
typedef struct {
	m0_call *call;
	uint64_t serial;
} owner;

static void free_owner(PyObject *capsule, const char *name)
{
	free(PyCapsule_GetPointer(capsule, name));
}

static void free_start(PyObject *capsule)
{
	free_owner(capsule, "m0serve.start");
}

static void free_body(PyObject *capsule)
{
	free_owner(capsule, "m0serve.body");
}

static PyObject *capsule_of(m0_call *call, const char *name, void (*end)(PyObject *))
{
	owner *o = malloc(sizeof *o);
	if (!o)
		abort();
	o->call = call;
	o->serial = call->serial;
	PyObject *capsule = PyCapsule_New(o, name, end);
	if (!capsule)
		free(o);
	return capsule;
}

// owner_of is the call that self belongs to, if it still runs.
static m0_call *owner_of(PyObject *self)
{
	owner *o = PyCapsule_GetPointer(self, "m0serve.start");
	if (!o)
		return NULL;
	if (o->serial != o->call->serial || m0_forked()) {
		PyErr_SetString(PyExc_RuntimeError, "start_response: its request is over");
		return NULL;
	}
	return o->call;
}

// make_input makes wsgi.input.
static PyObject *make_input(m0_call *call, const char *body, ssize_t len)
{
	if (len == 0)
		return PyObject_CallObject(bytes_io, NULL);
	if (len < 0) {
		PyObject *token = capsule_of(call, "m0serve.body", free_body);
		PyObject *input = token ? PyObject_CallFunctionObjArgs(m0_input, token, NULL) : NULL;
		if (token)
			Py_DecRef(token);
		return input;
	}
	PyObject *bytes = PyBytes_FromStringAndSize(body, len);
	PyObject *input = bytes ? PyObject_CallFunctionObjArgs(bytes_io, bytes, NULL) : NULL;
	if (bytes)
		Py_DecRef(bytes);
	return input;
}

static PyObject *make_environ(m0_call *call, const char *at, const char *end, const char *body,
			      ssize_t body_len)
{
	if (!mem->base && !(mem->base = PyDict_Copy(m0_base)))
		return NULL;
	mem->serial++;
	for (int i = 0; i < M0_PARTS; i++)
		if (set_part(mem->base, i, next_part(&at)))
			return NULL;
	PyObject *environ = PyDict_Copy(mem->base);
	if (!environ)
		return NULL;
	while (at < end) {
		part name = next_part(&at);
		if (set_field(environ, name, next_part(&at)))
			goto fail;
	}
	if (set(environ, name_input, make_input(call, body, body_len)))
		goto fail;
	return environ;
fail:
	Py_DecRef(environ);
	return NULL;
}

// reserve makes room for more bytes behind len.
static void reserve(char **at, size_t len, size_t *cap, size_t more)
{
	if (len + more <= *cap)
		return;
	*cap = 2 * *cap + more + 256;
	if (!(*at = realloc(*at, *cap)))
		abort();
}

// text is the latin-1 bytes of a str: borrowed from it, or owned by *made.
static int text(PyObject *str, const char *what, part *p, PyObject **made)
{
	PyObject *type = PyObject_Type(str);
	unsigned long flags = PyType_GetFlags(type);
	Py_DecRef(type);
	*made = NULL;
	if (!(flags & TYPE_STR)) {
		PyErr_Format(PyExc_TypeError, "start_response: %s must be a str, not %R", what, str);
		return -1;
	}
	Py_ssize_t len;
	p->at = PyUnicode_AsUTF8AndSize(str, &len);
	if (p->at) {
		uint64_t high = 0, w;
		Py_ssize_t i = 0;
		for (; i + 8 <= len; i += 8) {
			memcpy(&w, p->at + i, 8);
			high |= w;
		}
		for (; i < len; i++)
			high |= (uint64_t)(unsigned char)p->at[i];
		p->len = (size_t)len;
		if (!(high & 0x8080808080808080u))
			return 0;
	} else {
		PyErr_Clear(); // a lone surrogate: the next call says so
	}
	char *data;
	if (!(*made = PyUnicode_AsLatin1String(str)) || PyBytes_AsStringAndSize(*made, &data, &len)) {
		PyErr_Clear();
		PyErr_Format(PyExc_ValueError,
			     "start_response: %s %R has characters outside latin-1", what, str);
		return -1;
	}
	p->at = data;
	p->len = (size_t)len;
	return 0;
}

// Classes of bytes: 1 a token's, 2 a value's.
static const unsigned char class_of[256] = {
	['\t'] = 2, [' '] = 2, ['!'] = 3, ['"'] = 2, ['#' ... '\''] = 3, ['(' ... ')'] = 2,
	['*' ... '+'] = 3, [','] = 2, ['-' ... '.'] = 3, ['/'] = 2, ['0' ... '9'] = 3,
	[':' ... '@'] = 2, ['A' ... 'Z'] = 3, ['[' ... ']'] = 2, ['^' ... 'z'] = 3, ['{'] = 2,
	['|'] = 3, ['}'] = 2, ['~'] = 3, [0x80 ... 0xff] = 2,
};

static int is_of(part p, unsigned char want)
{
	unsigned char all = want;
	for (size_t i = 0; i < p.len; i++)
		all &= class_of[(unsigned char)p.at[i]];
	return all == want;
}

static int is_token(part p) { return p.len > 0 && is_of(p, 1); }
static int is_value(part p) { return is_of(p, 2); }

static int add_text(m0_call *call, PyObject *str, int is_name)
{
	part p;
	PyObject *made;
	const char *what = is_name ? "header name" : "header value";
	int err = text(str, what, &p, &made);
	if (!err && !(is_name ? is_token(p) : is_value(p))) {
		PyErr_Format(PyExc_ValueError, "start_response: %s %R is not valid", what, str);
		err = -1;
	}
	if (!err && call->fields_len + p.len > M0_HEAD_MAX) {
		PyErr_Format(PyExc_ValueError, "start_response: the headers are longer than %d bytes",
			     M0_HEAD_MAX);
		err = -1;
	}
	if (!err) {
		uint32_t len = (uint32_t)p.len;
		reserve(&call->fields, call->fields_len, &call->fields_cap, sizeof len + p.len);
		memcpy(call->fields + call->fields_len, &len, sizeof len);
		memcpy(call->fields + call->fields_len + sizeof len, p.at, p.len);
		call->fields_len += sizeof len + p.len;
	}
	if (made)
		Py_DecRef(made);
	return err;
}

static int set_status(m0_call *call, PyObject *status)
{
	part p;
	PyObject *made;
	int err = text(status, "status", &p, &made);
	if (!err) {
		int code = 0;
		for (size_t i = 0; i < 3 && i < p.len && p.at[i] >= '0' && p.at[i] <= '9'; i++)
			code = 10 * code + p.at[i] - '0';
		if (code < 200 || !(p.len == 3 || (p.len > 3 && p.at[3] == ' ')) || !is_value(p) ||
		    p.len > M0_KEEP_MAX) {
			PyErr_Format(PyExc_ValueError,
				     "start_response: status %R is not like \"200 OK\"", status);
			err = -1;
		} else {
			size_t len = p.len > 4 ? p.len - 4 : 0;
			reserve(&call->reason, 0, &call->reason_cap, len);
			if (len)
				memcpy(call->reason, p.at + 4, len);
			call->reason_len = len;
			call->code = code;
		}
	}
	if (made)
		Py_DecRef(made);
	return err;
}

// check_length refuses a Content-Length that is none, and a second one. at is where
// the pair was added.
static int check_length(const m0_call *call, size_t at, int *seen)
{
	static const char want[] = "content-length";
	const char *next = call->fields + at;
	part name = next_part(&next), value = next_part(&next);
	if (name.len != sizeof want - 1)
		return 0;
	for (size_t i = 0; i < name.len; i++)
		if (lower(name.at[i]) != want[i])
			return 0;
	size_t digits = 0;
	while (digits < value.len && value.at[digits] >= '0' && value.at[digits] <= '9')
		digits++;
	if (digits && digits == value.len && digits < 19 && !(*seen)++)
		return 0;
	PyErr_SetString(PyExc_ValueError, *seen ? "start_response: Content-Length is given twice"
						: "start_response: Content-Length is not a length");
	return -1;
}

static int add_pair(m0_call *call, PyObject *pair, int *lengths)
{
	PyObject *type = PyObject_Type(pair);
	int is_pair = (PyType_GetFlags(type) & TYPE_TUPLE) && PyTuple_Size(pair) == 2;
	Py_DecRef(type);
	if (!is_pair) {
		PyErr_Format(PyExc_TypeError,
			     "start_response: a header must be a tuple of name and value, not %R", pair);
		return -1;
	}
	size_t at = call->fields_len;
	return add_text(call, PyTuple_GetItem(pair, 0), 1) ||
	       add_text(call, PyTuple_GetItem(pair, 1), 0) || check_length(call, at, lengths);
}

static int set_fields(m0_call *call, PyObject *headers)
{
	int lengths = 0;
	PyObject *type = PyObject_Type(headers);
	int is_list = !!(PyType_GetFlags(type) & TYPE_LIST);
	Py_DecRef(type);
	if (!is_list) {
		PyErr_Format(PyExc_TypeError, "start_response: headers must be a list, not %R", headers);
		return -1;
	}
	call->fields_len = 0;
	Py_ssize_t n = PyList_Size(headers);
	for (Py_ssize_t i = 0; i < n; i++) {
		PyObject *pair = PyList_GetItem(headers, i);
		if (!pair)
			return -1;
		Py_IncRef(pair); // a repr in a message may change the list
		int err = add_pair(call, pair, &lengths);
		Py_DecRef(pair);
		if (err)
			return -1;
	}
	return 0;
}

// put writes a piece of the body. The first one that is not empty takes the head
// along.
static int put(m0_call *call, PyObject *bytes)
{
	char *data;
	Py_ssize_t len;
	PyObject *type = PyObject_Type(bytes);
	unsigned long flags = PyType_GetFlags(type);
	Py_DecRef(type);
	if (!(flags & TYPE_BYTES)) {
		PyErr_Format(PyExc_TypeError, "the body must be made of bytes, not %R", bytes);
		return M0_FAILED;
	}
	if (PyBytes_AsStringAndSize(bytes, &data, &len))
		return M0_FAILED;
	if (!call->code) {
		PyErr_SetString(PyExc_AssertionError, "start_response was not called before the body");
		return M0_FAILED;
	}
	if (len == 0)
		return M0_OK;
	if (call->writing) {
		PyErr_SetString(PyExc_RuntimeError, "another thread writes to this answer");
		return M0_FAILED;
	}
	call->writing = 1;
	int result = m0GoWrite(call, data, (size_t)len, 0);
	if (result == M0_WOULD_BLOCK) {
		void *state = PyEval_SaveThread();
		result = m0GoWrite(call, data, (size_t)len, 1);
		PyEval_RestoreThread(state);
	}
	call->writing = 0;
	return result;
}

// wsgi_write is the callable that start_response returns.
static PyObject *wsgi_write(PyObject *self, PyObject *bytes)
{
	m0_call *call = owner_of(self);
	if (!call)
		return NULL;
	switch (put(call, bytes)) {
	case M0_OK:
		Py_IncRef(m0_none);
		return m0_none;
	case M0_GONE:
		PyErr_SetString(PyExc_OSError, "write: the client is gone");
	}
	return NULL;
}

static PyMethodDef write_def = {"write", wsgi_write, METH_O, "Writes a piece of the body."};

static int is_a(PyObject *object, unsigned long kind)
{
	PyObject *type = PyObject_Type(object);
	unsigned long flags = PyType_GetFlags(type);
	Py_DecRef(type);
	return !!(flags & kind);
}

// again is start_response with exc_info, or a second time. 0: go on.
static int again(m0_call *call, PyObject *exc_info)
{
	if (!exc_info || exc_info == m0_none) {
		if (!call->code)
			return 0;
		PyErr_SetString(PyExc_AssertionError,
				"start_response was called twice without exc_info");
		return -1;
	}
	if (!call->sent)
		return 0;
	PyObject *value, *traceback;
	if (!is_a(exc_info, TYPE_TUPLE) || PyTuple_Size(exc_info) != 3 ||
	    !is_a(value = PyTuple_GetItem(exc_info, 1), TYPE_EXCEPTION)) {
		PyErr_SetString(PyExc_TypeError, "start_response: exc_info must be that of sys.exc_info()");
		return -1;
	}
	traceback = PyTuple_GetItem(exc_info, 2);
	if (PyException_SetTraceback(value, traceback)) // looks what it is
		return -1;
	Py_IncRef(value);
	if (traceback == m0_none)
		traceback = NULL;
	else
		Py_IncRef(traceback);
	PyErr_Restore(PyObject_Type(value), value, traceback);
	return -1;
}

static PyObject *start_response(PyObject *self, PyObject *args, PyObject *kwargs)
{
	m0_call *call = owner_of(self);
	if (!call)
		return NULL;
	PyObject *given[3] = {0};
	Py_ssize_t n = PyTuple_Size(args);
	for (Py_ssize_t i = 0; i < n && i < 3; i++)
		given[i] = PyTuple_GetItem(args, i);
	static const char *const names[] = {"status", "headers", "exc_info"};
	for (int i = 0; kwargs && i < 3; i++) {
		PyObject *name = PyUnicode_InternFromString(names[i]);
		if (!given[i] && name)
			given[i] = PyDict_GetItemWithError(kwargs, name);
		Py_DecRef(name);
	}
	if (n > 3 || !given[0] || !given[1]) {
		PyErr_SetString(PyExc_TypeError, "start_response(status, headers, exc_info=None)");
		return NULL;
	}
	if (again(call, given[2]))
		return NULL;
	if (set_status(call, given[0]) || set_fields(call, given[1])) {
		call->code = 0;
		return NULL;
	}
	return PyCFunction_NewEx(&write_def, self, NULL);
}

static PyMethodDef start_def = {"start_response", (PyCFunction)(void (*)(void))start_response,
				METH_VARARGS | METH_KEYWORDS, "Begins the answer (PEP 3333)."};

// report tells the log about the exception that is set, and clears it.
static void report(PyObject *environ)
{
	PyObject *type, *value, *traceback;
	PyErr_Fetch(&type, &value, &traceback);
	PyErr_NormalizeException(&type, &value, &traceback);
	if (value && traceback)
		PyException_SetTraceback(value, traceback);
	PyObject *done = PyObject_CallFunctionObjArgs(m0_report, value ? value : m0_none,
						      environ ? environ : m0_none, NULL);
	if (done)
		Py_DecRef(done);
	else
		PyErr_WriteUnraisable(m0_report);
	if (type)
		Py_DecRef(type);
	if (value)
		Py_DecRef(value);
	if (traceback)
		Py_DecRef(traceback);
}

// leave_child ends a forked child in which the application has come back to us: it
// is no worker, and no Go code may run in it. The hook knows how to leave.
static void leave_child(void)
{
	report(NULL);
	_exit(1);
}

// single is the only item of a list or tuple of one bytes object, or NULL.
static PyObject *single(PyObject *result)
{
	PyObject *type = PyObject_Type(result), *item = NULL;
	Py_DecRef(type); // result keeps it
	if (type == type_list && PyList_Size(result) == 1)
		item = PyList_GetItem(result, 0);
	else if (type == type_tuple && PyTuple_Size(result) == 1)
		item = PyTuple_GetItem(result, 0);
	if (!item)
		return NULL;
	type = PyObject_Type(item);
	unsigned long flags = PyType_GetFlags(type);
	Py_DecRef(type);
	return flags & TYPE_BYTES ? item : NULL;
}

// iterate writes what the application returned. It returns M0_OK, M0_GONE, or
// M0_FAILED with an exception set.
static int iterate(m0_call *call, PyObject *result)
{
	PyObject *it = PyObject_GetIter(result);
	if (!it)
		return M0_FAILED;
	int outcome = M0_OK;
	PyObject *piece;
	while (outcome == M0_OK && (piece = PyIter_Next(it))) {
		if (m0_forked())
			leave_child();
		outcome = put(call, piece);
		Py_DecRef(piece);
	}
	if (outcome == M0_OK && PyErr_Occurred())
		outcome = M0_FAILED;
	if (outcome == M0_OK && !call->code) {
		PyErr_SetString(PyExc_AssertionError, "start_response was not called");
		outcome = M0_FAILED;
	}
	Py_DecRef(it);
	return outcome;
}

// send_file sends what is left of a file by its descriptor, without Python. It
// returns 0 when the result is something else.
static int send_file(m0_call *call, PyObject *result, int *outcome)
{
	PyObject *type = PyObject_Type(result);
	Py_DecRef(type); // result keeps it
	if (type != m0_file || !call->code || call->sent || call->writing)
		return 0;
	PyObject *method = PyObject_GetAttr(result, attr_region);
	PyObject *region = method ? PyObject_CallObject(method, NULL) : NULL;
	if (method)
		Py_DecRef(method);
	int is_file = region && region != m0_none;
	if (is_file) {
		int fd = (int)PyLong_AsLongLong(PyTuple_GetItem(region, 0));
		long long at = PyLong_AsLongLong(PyTuple_GetItem(region, 1));
		call->writing = 1;
		void *state = PyEval_SaveThread();
		*outcome = m0GoFile(call, fd, at);
		PyEval_RestoreThread(state);
		call->writing = 0;
	}
	if (region)
		Py_DecRef(region);
	PyErr_Clear();
	return is_file;
}

// close_result calls the iterable's close, once. An exception on the way is
// kept.
static void close_result(PyObject *result, PyObject *environ)
{
	PyObject *type, *value, *traceback;
	PyErr_Fetch(&type, &value, &traceback);
	PyObject *close = PyObject_GetAttr(result, attr_close);
	if (close) {
		PyObject *done = PyObject_CallObject(close, NULL);
		if (done)
			Py_DecRef(done);
		else
			report(environ);
		Py_DecRef(close);
	} else {
		PyErr_Clear();
	}
	PyErr_Restore(type, value, traceback);
}

// COPY_MAX is the longest body that is copied instead of kept.
enum { COPY_MAX = 16 << 10 };

// answer turns what the application returned into an outcome.
static int answer(m0_call *call, PyObject *result, PyObject *environ)
{
	PyObject *item = call->code && !call->sent ? single(result) : NULL;
	if (item) {
		char *data;
		Py_ssize_t len;
		if (PyBytes_AsStringAndSize(item, &data, &len))
			return M0_FAILED;
		call->body_len = (size_t)len;
		if (len <= COPY_MAX) { // spares a second crossing
			reserve(&call->copy, 0, &call->copy_cap, (size_t)len);
			memcpy(call->copy, data, (size_t)len);
			call->body = call->copy;
			return M0_WHOLE;
		}
		call->body = data;
		call->keep = result;
		Py_IncRef(result);
		return M0_WHOLE;
	}
	int outcome;
	if (!send_file(call, result, &outcome))
		outcome = iterate(call, result);
	close_result(result, environ);
	switch (outcome) {
	case M0_OK:
		return M0_WRITTEN;
	case M0_GONE:
		return M0_ABORTED;
	}
	return M0_FAILED;
}

// settle lets nobody but this thread be in Go for the request, which is over. A
// thread of the application's that writes is done when the client has taken its
// piece, one that reads is told that there is no more.
static void settle(m0_call *call)
{
	while (call->writing || call->reading) {
		m0GoBreak(call);
		void *state = PyEval_SaveThread();
		m0_nap();
		PyEval_RestoreThread(state);
	}
}

// begin makes call ready for the next request.
static void begin(m0_call *call)
{
	call->serial++;
	call->code = 0;
	call->sent = 0;
	call->fields_len = call->reason_len = 0;
	if (call->fields_cap > M0_KEEP_MAX) {
		free(call->fields);
		call->fields = NULL;
		call->fields_cap = 0;
	}
}

int m0_wsgi(m0_ref ref, const char *pack, size_t pack_len, const char *body, ssize_t body_len)
{
	if (!mem && !(mem = calloc(1, sizeof *mem)))
		abort();
	m0_call *call = (m0_call *)ref;
	begin(call);
	PyObject *environ = make_environ(call, pack, pack + pack_len, body, body_len);
	PyObject *self = environ ? capsule_of(call, "m0serve.start", free_start) : NULL;
	PyObject *start = self ? PyCFunction_NewEx(&start_def, self, NULL) : NULL;
	PyObject *result = NULL;
	int outcome = M0_FAILED;
	if (start)
		result = PyObject_CallFunctionObjArgs(m0_app, environ, start, NULL);
	if (m0_forked())
		leave_child();
	if (result) {
		outcome = answer(call, result, environ);
		Py_DecRef(result);
	}
	if (m0_forked())
		leave_child();
	call->serial++; // what the application keeps is over
	if ((outcome == M0_WRITTEN || outcome == M0_WHOLE) && !call->code) {
		PyErr_SetString(PyExc_AssertionError, // close() did it, or another thread
				"start_response failed behind the one of the answer");
		outcome = M0_FAILED;
	}
	if (outcome == M0_FAILED) {
		report(environ);
		if (call->sent)
			outcome = M0_ABORTED;
	}
	if (start)
		Py_DecRef(start);
	if (self)
		Py_DecRef(self);
	if (environ)
		Py_DecRef(environ);
	settle(call);
	return outcome;
}

void m0_wsgi_done(m0_call *call)
{
	if (call->keep) {
		Py_DecRef(call->keep);
		call->keep = NULL;
	}
}
