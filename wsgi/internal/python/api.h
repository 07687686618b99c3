// SPDX-License-Identifier: MIT

// The part of CPython's C interface that m0serve uses, looked up at run time.
//
// Assumed, and true for every CPython from 3.9 on, free-threaded builds
// included: the names and signatures below, that objects are opaque, and the
// layout of PyMethodDef. No headers of Python, no macros, no struct of an object
// or of a module is used.

#ifndef M0_API_H
#define M0_API_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

typedef struct PyObject PyObject;
typedef ssize_t Py_ssize_t;
typedef PyObject *(*PyCFunction)(PyObject *, PyObject *);

typedef struct {
	const char *name;
	PyCFunction meth;
	int flags;
	const char *doc;
} PyMethodDef;

enum { METH_VARARGS = 1, METH_KEYWORDS = 2, METH_NOARGS = 4, METH_O = 8 };

// Bits of PyType_GetFlags that tell the built-in types, subclasses included.
enum {
	TYPE_LIST = 1ul << 25,
	TYPE_TUPLE = 1ul << 26,
	TYPE_BYTES = 1ul << 27,
	TYPE_STR = 1ul << 28,
	TYPE_EXCEPTION = 1ul << 30,
};

// M0_API lists every function as (result, name, parameters).
#define M0_API(F) \
	F(void, Py_IncRef, (PyObject *)) \
	F(void, Py_DecRef, (PyObject *)) \
	F(void *, PyEval_SaveThread, (void)) \
	F(void, PyEval_RestoreThread, (void *)) \
	F(int, PyGILState_Ensure, (void)) \
	F(void, PyGILState_Release, (int)) \
	F(PyObject *, PyModule_New, (const char *)) \
	F(PyObject *, PyImport_ImportModule, (const char *)) \
	F(int, PyObject_SetAttrString, (PyObject *, const char *, PyObject *)) \
	F(PyObject *, PyObject_GetAttr, (PyObject *, PyObject *)) \
	F(PyObject *, PyObject_GetAttrString, (PyObject *, const char *)) \
	F(PyObject *, PyCFunction_NewEx, (PyMethodDef *, PyObject *, PyObject *)) \
	F(PyObject *, PyCapsule_New, (void *, const char *, void (*)(PyObject *))) \
	F(void *, PyCapsule_GetPointer, (PyObject *, const char *)) \
	F(PyObject *, PyObject_CallObject, (PyObject *, PyObject *)) \
	F(PyObject *, PyObject_CallFunctionObjArgs, (PyObject *, ...)) \
	F(PyObject *, PyObject_GetIter, (PyObject *)) \
	F(PyObject *, PyIter_Next, (PyObject *)) \
	F(PyObject *, PyObject_Bytes, (PyObject *)) \
	F(PyObject *, PyObject_Type, (PyObject *)) \
	F(unsigned long, PyType_GetFlags, (PyObject *)) \
	F(int, PyObject_IsTrue, (PyObject *)) \
	F(int, PyCallable_Check, (PyObject *)) \
	F(PyObject *, PyDict_New, (void)) \
	F(PyObject *, PyDict_Copy, (PyObject *)) \
	F(int, PyDict_SetItem, (PyObject *, PyObject *, PyObject *)) \
	F(int, PyDict_SetItemString, (PyObject *, const char *, PyObject *)) \
	F(PyObject *, PyDict_GetItemWithError, (PyObject *, PyObject *)) \
	F(PyObject *, PyTuple_New, (Py_ssize_t)) \
	F(Py_ssize_t, PyTuple_Size, (PyObject *)) \
	F(PyObject *, PyTuple_GetItem, (PyObject *, Py_ssize_t)) \
	F(int, PyTuple_SetItem, (PyObject *, Py_ssize_t, PyObject *)) \
	F(PyObject *, PyList_New, (Py_ssize_t)) \
	F(int, PyList_SetItem, (PyObject *, Py_ssize_t, PyObject *)) \
	F(int, PyList_Append, (PyObject *, PyObject *)) \
	F(Py_ssize_t, PyList_Size, (PyObject *)) \
	F(PyObject *, PyList_GetItem, (PyObject *, Py_ssize_t)) \
	F(PyObject *, PyUnicode_DecodeLatin1, (const char *, Py_ssize_t, const char *)) \
	F(PyObject *, PyUnicode_DecodeUTF8, (const char *, Py_ssize_t, const char *)) \
	F(PyObject *, PyUnicode_InternFromString, (const char *)) \
	F(const char *, PyUnicode_AsUTF8AndSize, (PyObject *, Py_ssize_t *)) \
	F(PyObject *, PyUnicode_FromFormat, (const char *, ...)) \
	F(PyObject *, PyUnicode_AsLatin1String, (PyObject *)) \
	F(PyObject *, PyBytes_FromStringAndSize, (const char *, Py_ssize_t)) \
	F(int, PyBytes_AsStringAndSize, (PyObject *, char **, Py_ssize_t *)) \
	F(PyObject *, PyLong_FromLongLong, (long long)) \
	F(long long, PyLong_AsLongLong, (PyObject *)) \
	F(PyObject *, PyBool_FromLong, (long)) \
	F(PyObject *, PyErr_Occurred, (void)) \
	F(void, PyErr_Clear, (void)) \
	F(void, PyErr_Fetch, (PyObject **, PyObject **, PyObject **)) \
	F(void, PyErr_NormalizeException, (PyObject **, PyObject **, PyObject **)) \
	F(void, PyErr_Restore, (PyObject *, PyObject *, PyObject *)) \
	F(void, PyErr_SetString, (PyObject *, const char *)) \
	F(PyObject *, PyErr_Format, (PyObject *, const char *, ...)) \
	F(void, PyErr_WriteUnraisable, (PyObject *)) \
	F(int, PyException_SetTraceback, (PyObject *, PyObject *)) \
	F(void, Py_InitializeEx, (int)) \
	F(void, Py_SetProgramName, (const wchar_t *)) \
	F(wchar_t *, Py_DecodeLocale, (const char *, size_t *)) \
	F(PyObject *, Py_CompileString, (const char *, const char *, int)) \
	F(PyObject *, PyEval_EvalCode, (PyObject *, PyObject *, PyObject *)) \
	F(PyObject *, PyEval_GetBuiltins, (void)) \
	F(const char *, Py_GetVersion, (void))

// M0_OBJECTS lists the objects: a pointer to each is looked up, and for the
// exceptions what it points at.
#define M0_EXCEPTIONS(F) \
	F(PyExc_AssertionError) \
	F(PyExc_OSError) \
	F(PyExc_RuntimeError) \
	F(PyExc_TypeError) \
	F(PyExc_ValueError)

// The variables have the functions' names, which the process has too.
#define M0_OURS __attribute__((visibility("hidden")))

#define M0_DECLARE(result, name, params) extern M0_OURS result(*name) params;
M0_API(M0_DECLARE)
#undef M0_DECLARE

#define M0_DECLARE(name) extern M0_OURS PyObject *name;
M0_EXCEPTIONS(M0_DECLARE)
#undef M0_DECLARE
extern PyObject *m0_none, *m0_true, *m0_false;

// m0_api_load looks everything up in library, or in the process itself when
// library is NULL. It returns what could not be found, or NULL.
const char *m0_api_load(const char *library);

// m0_api_exceptions is called once the interpreter is initialised.
void m0_api_exceptions(void);

#endif
