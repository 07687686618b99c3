// SPDX-License-Identifier: MIT
//go:build linux

// Publishing and subscribing without a socket. Any thread may call.

#include <stdlib.h>
#include <string.h>

#include "shim.h"

// text_at is an argument that has to be a str; -1 with an error set otherwise.
static int text_at(PyObject *args, Py_ssize_t i, m0_text *text)
{
	Py_ssize_t len;
	text->at = (char *)PyUnicode_AsUTF8AndSize(PyTuple_GetItem(args, i), &len);
	text->len = (size_t)len;
	return text->at ? 0 : -1;
}

// arguments checks how many there are, and that this process is the worker itself.
static int arguments(PyObject *args, Py_ssize_t n, const char *usage)
{
	if (m0_refuse_in_child())
		return -1;
	if (PyTuple_Size(args) == n)
		return 0;
	PyErr_SetString(PyExc_TypeError, usage);
	return -1;
}

// token_of is a subscription; -1 with an error set when given is none.
static int token_of(PyObject *given, uint32_t *token)
{
	*token = (uint32_t)PyLong_AsLongLong(given);
	return PyErr_Occurred() ? -1 : 0;
}

// raise makes what Go said, which it frees, an exception.
static PyObject *raise(int of, char *wrong)
{
	PyErr_SetString(of == M0_INVALID ? PyExc_ValueError : PyExc_RuntimeError, wrong);
	free(wrong);
	return NULL;
}

// channels_publish(channel, data, event, id) returns the id.
static PyObject *channels_publish(PyObject *self, PyObject *args)
{
	(void)self;
	m0_text text[4];
	uint64_t id;
	char *wrong;
	if (arguments(args, 4, "publish(channel, data, event, id)"))
		return NULL;
	for (int i = 0; i < 4; i++)
		if (text_at(args, i, &text[i]))
			return NULL;
	void *state = PyEval_SaveThread();
	int of = m0GoPublish(text, &id, &wrong);
	PyEval_RestoreThread(state);
	return of ? raise(of, wrong) : PyLong_FromLongLong((long long)id);
}

// channels_subscribe(token, channel) adds a channel to a subscription, a new one where
// token is None, and returns the token.
static PyObject *channels_subscribe(PyObject *self, PyObject *args)
{
	(void)self;
	m0_text channel;
	uint32_t token = M0_NO_TOKEN;
	char *wrong;
	if (arguments(args, 2, "subscribe(token, channel)") || text_at(args, 1, &channel))
		return NULL;
	PyObject *given = PyTuple_GetItem(args, 0);
	if (given != m0_none && token_of(given, &token))
		return NULL;
	void *state = PyEval_SaveThread();
	int of = m0GoSubscribe(&token, &channel, &wrong);
	PyEval_RestoreThread(state);
	return of ? raise(of, wrong) : PyLong_FromLongLong(token);
}

// message_of makes the tuple (channel, event or None, data, id).
static PyObject *message_of(const m0_events *events)
{
	PyObject *message = PyTuple_New(4);
	const char *at = events->data;
	for (int i = 0; message && i < 4; i++) {
		uint32_t len;
		memcpy(&len, at, sizeof len);
		at += sizeof len;
		PyObject *text = m0_none;
		if (i == 1 && !len)
			Py_IncRef(m0_none);
		else
			text = PyUnicode_DecodeUTF8(at, (Py_ssize_t)len, "replace");
		at += len;
		if (!text) {
			Py_DecRef(message);
			return NULL;
		}
		PyTuple_SetItem(message, i, text);
	}
	return message;
}

// channels_receive(token) returns the next message, how many are missing ahead of it,
// None while nothing waits, and False at the end.
static PyObject *channels_receive(PyObject *self, PyObject *given)
{
	(void)self;
	uint32_t token;
	if (m0_refuse_in_child() || token_of(given, &token))
		return NULL;
	m0_events events = {0};
	int missing;
	PyObject *result = NULL;
	switch (m0GoReceive(token, &events, &missing)) {
	case M0_COMES:
		result = message_of(&events);
		break;
	case M0_MISSING:
		result = PyLong_FromLongLong(missing);
		break;
	case M0_OVER:
		result = PyBool_FromLong(0);
		break;
	default:
		Py_IncRef(m0_none);
		result = m0_none;
	}
	free(events.data);
	return result;
}

static PyObject *channels_unsubscribe(PyObject *self, PyObject *given)
{
	(void)self;
	uint32_t token;
	if (m0_refuse_in_child() || token_of(given, &token))
		return NULL;
	void *state = PyEval_SaveThread();
	m0GoUnsubscribe(token);
	PyEval_RestoreThread(state);
	Py_IncRef(m0_none);
	return m0_none;
}

PyMethodDef m0_channel_natives[] = {
	{"publish", channels_publish, METH_VARARGS, NULL},
	{"subscribe", channels_subscribe, METH_VARARGS, NULL},
	{"receive", channels_receive, METH_O, NULL},
	{"unsubscribe", channels_unsubscribe, METH_O, NULL},
	{0},
};
