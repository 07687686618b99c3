// SPDX-License-Identifier: MIT
//go:build linux

#include <locale.h>
#include <stdlib.h>
#include <string.h>

#include "shim.h"

PyObject *m0_app, *m0_base, *m0_report, *m0_input, *m0_file;

const char *m0_load(const char *library)
{
	return m0_api_load(library);
}

// m0_refuse_in_child keeps a forked child out of Go.
int m0_refuse_in_child(void)
{
	if (!m0_forked())
		return 0;
	PyErr_SetString(PyExc_RuntimeError,
			"m0serve: this is a forked child of a worker; only the worker itself can do that");
	return -1;
}

// text_of makes a str of text, which it frees; NULL becomes None.
static PyObject *text_of(char *text)
{
	if (!text) {
		Py_IncRef(m0_none);
		return m0_none;
	}
	PyObject *str = PyUnicode_DecodeUTF8(text, (Py_ssize_t)strlen(text), "replace");
	free(text);
	return str;
}

static PyObject *native_options(PyObject *self, PyObject *unused)
{
	(void)self, (void)unused;
	return m0_refuse_in_child() ? NULL : text_of(m0GoOptions());
}

static PyObject *native_source(PyObject *self, PyObject *name)
{
	(void)self;
	const char *module = PyUnicode_AsUTF8AndSize(name, NULL);
	return module ? text_of(m0GoSource((char *)module)) : NULL;
}

// native_start(kind, app, base, report, input, file) begins to serve and returns what
// is wrong, or None.
static PyObject *native_start(PyObject *self, PyObject *args)
{
	(void)self;
	if (m0_refuse_in_child())
		return NULL;
	if (PyTuple_Size(args) != 6) {
		PyErr_SetString(PyExc_TypeError, "start(kind, app, base, report, input, file)");
		return NULL;
	}
	const char *kind = PyUnicode_AsUTF8AndSize(PyTuple_GetItem(args, 0), NULL);
	if (!kind)
		return NULL;
	if (m0_app) {
		PyErr_SetString(PyExc_RuntimeError, "start was called before");
		return NULL;
	}
	PyObject **hooks[] = {&m0_app, &m0_base, &m0_report, &m0_input, &m0_file};
	for (int i = 0; i < 5; i++) {
		*hooks[i] = PyTuple_GetItem(args, i + 1);
		Py_IncRef(*hooks[i]);
	}
	if (strcmp(kind, "asgi") ? m0_wsgi_init() : m0_asgi_init())
		return NULL;
	void *state = PyEval_SaveThread();
	char *wrong = m0GoStart((char *)kind);
	PyEval_RestoreThread(state);
	return text_of(wrong);
}

// native_sit() serves on this thread until the server ends; it returns what is
// wrong, or None.
static PyObject *native_sit(PyObject *self, PyObject *unused)
{
	(void)self, (void)unused;
	if (m0_refuse_in_child())
		return NULL;
	if (!m0_app) {
		PyErr_SetString(PyExc_RuntimeError, "sit: nothing is served");
		return NULL;
	}
	return text_of(m0GoSit());
}

// native_status() is the exit status that the engine asks for.
static PyObject *native_status(PyObject *self, PyObject *unused)
{
	(void)self, (void)unused;
	if (m0_refuse_in_child())
		return NULL;
	void *state = PyEval_SaveThread();
	int status = m0GoStatus();
	PyEval_RestoreThread(state);
	return PyLong_FromLongLong(status);
}

static PyObject *native_log(PyObject *self, PyObject *args)
{
	(void)self;
	if (m0_refuse_in_child())
		return NULL;
	if (PyTuple_Size(args) != 2) {
		PyErr_SetString(PyExc_TypeError, "log(level, text)");
		return NULL;
	}
	const char *level = PyUnicode_AsUTF8AndSize(PyTuple_GetItem(args, 0), NULL);
	const char *text = level ? PyUnicode_AsUTF8AndSize(PyTuple_GetItem(args, 1), NULL) : NULL;
	if (!text)
		return NULL;
	void *state = PyEval_SaveThread(); // whoever reads the log may be slow
	m0GoLog((char *)level, (char *)text);
	PyEval_RestoreThread(state);
	return text_of(NULL);
}

// native_read(token, n) reads at most n bytes of the body of the request that
// token stands for; b"" at its end.
static PyObject *native_read(PyObject *self, PyObject *args)
{
	(void)self;
	if (m0_refuse_in_child())
		return NULL;
	if (PyTuple_Size(args) != 2) {
		PyErr_SetString(PyExc_TypeError, "read(token, n)");
		return NULL;
	}
	struct {
		m0_call *call;
		uint64_t serial;
	} *token = PyCapsule_GetPointer(PyTuple_GetItem(args, 0), "m0serve.body");
	long long n = token ? PyLong_AsLongLong(PyTuple_GetItem(args, 1)) : -1;
	if (!token || (n < 0 && PyErr_Occurred()))
		return NULL;
	if (token->serial != token->call->serial) {
		PyErr_SetString(PyExc_ValueError, "wsgi.input: the request is over");
		return NULL;
	}
	if (n <= 0)
		return PyBytes_FromStringAndSize(NULL, 0);
	if (n > 1 << 20)
		n = 1 << 20;
	PyObject *bytes = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)n);
	char *data;
	Py_ssize_t cap;
	if (!bytes || PyBytes_AsStringAndSize(bytes, &data, &cap))
		return NULL;
	m0_call *call = token->call;
	call->reading++;
	void *state = PyEval_SaveThread();
	ssize_t got = m0GoRead(call, data, (size_t)n);
	PyEval_RestoreThread(state);
	call->reading--;
	PyObject *result = NULL;
	if (got == n)
		return bytes;
	if (got < 0)
		PyErr_SetString(PyExc_OSError, "wsgi.input: the client did not send the whole body");
	else
		result = PyBytes_FromStringAndSize(data, got);
	Py_DecRef(bytes);
	return result;
}

static PyMethodDef natives[] = {
	{"options", native_options, METH_NOARGS, NULL},
	{"source", native_source, METH_O, NULL},
	{"start", native_start, METH_VARARGS, NULL},
	{"sit", native_sit, METH_NOARGS, NULL},
	{"status", native_status, METH_NOARGS, NULL},
	{"log", native_log, METH_VARARGS, NULL},
	{"read", native_read, METH_VARARGS, NULL},
	{0},
};

// define puts functions into a module.
static int define(PyObject *module, PyMethodDef *functions)
{
	for (PyMethodDef *f = functions; f->name; f++) {
		PyObject *object = PyCFunction_NewEx(f, NULL, NULL);
		if (!object || PyObject_SetAttrString(module, f->name, object))
			return -1;
		Py_DecRef(object);
	}
	return 0;
}

PyObject *m0_module(void)
{
	m0_api_exceptions();
	PyObject *module = PyModule_New("m0serve._native");
	if (!module || define(module, natives) || define(module, m0_asgi_natives) ||
	    define(module, m0_channel_natives))
		return NULL;
	return module;
}

int m0_embed(const char *program, const char *source)
{
	setlocale(LC_CTYPE, ""); // or a C locale makes file names ASCII
	Py_SetProgramName(Py_DecodeLocale(program, NULL));
	Py_InitializeEx(0);
	PyObject *module = m0_module();
	PyObject *globals = PyDict_New();
	if (!module || !globals)
		return 1;
	PyDict_SetItemString(globals, "native", module);
	PyDict_SetItemString(globals, "__builtins__", PyEval_GetBuiltins());
	enum { FILE_INPUT = 257 }; // Py_file_input, the same in every version
	PyObject *code = Py_CompileString(source, "<m0serve>", FILE_INPUT);
	PyObject *result = code ? PyEval_EvalCode(code, globals, globals) : NULL;
	if (result)
		return 0;
	PyErr_WriteUnraisable(NULL);
	return 1;
}
