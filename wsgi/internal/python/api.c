// SPDX-License-Identifier: MIT
//go:build linux

#include <dlfcn.h>
#include <wchar.h>

#include "api.h"

#define M0_DEFINE(result, name, params) result(*name) params;
M0_API(M0_DEFINE)
#undef M0_DEFINE

#define M0_DEFINE(name) PyObject *name;
M0_EXCEPTIONS(M0_DEFINE)
#undef M0_DEFINE
PyObject *m0_none, *m0_true, *m0_false;

const char *m0_api_load(const char *library)
{
	// Extension modules resolve Python's symbols from the global scope.
	void *handle = library ? dlopen(library, RTLD_NOW | RTLD_GLOBAL) : RTLD_DEFAULT;
	if (library && !handle)
		return dlerror();
#define M0_FIND(result, name, params) \
	if (!(*(void **)&name = dlsym(handle, #name))) \
		return #name;
	M0_API(M0_FIND)
#undef M0_FIND
	void *object;
#define M0_FIND(name) \
	if (!(object = dlsym(handle, #name))) \
		return #name; \
	name = object;
	M0_EXCEPTIONS(M0_FIND)
#undef M0_FIND
	if (!(m0_none = dlsym(handle, "_Py_NoneStruct")) ||
	    !(m0_true = dlsym(handle, "_Py_TrueStruct")) ||
	    !(m0_false = dlsym(handle, "_Py_FalseStruct")))
		return "_Py_NoneStruct";
	return NULL;
}

void m0_api_exceptions(void)
{
#define M0_READ(name) name = *(PyObject **)name;
	M0_EXCEPTIONS(M0_READ)
#undef M0_READ
}
