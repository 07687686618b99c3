// SPDX-License-Identifier: MIT

// What crosses between Go and the interpreter. Everything here but m0_load,
// m0_rouse and m0_forked is called with the interpreter's lock.

#ifndef M0_SHIM_H
#define M0_SHIM_H

#include "api.h"

// How a call of a WSGI application ended.
enum {
	M0_WHOLE,   // head and body are in the m0_call
	M0_WRITTEN, // everything was written through Go
	M0_FAILED,  // nothing was sent: answer 500
	M0_ABORTED, // the head was sent: break the connection off
};

// m0_call is one call of the application on one seat. It lives as long as the
// seat, and belongs to whoever holds the interpreter's lock. Free-threaded builds
// have no such lock: there it is the seat's thread's, and what an application does
// with start_response, write and wsgi.input on other threads at once is undefined.
typedef struct m0_call {
	int seat;
	uint64_t serial; // of the request; a start_response of another one is refused

	// The answer as start_response was told; fields are packed like the request.
	int code; // 0: not called
	char *reason;
	size_t reason_len, reason_cap;
	char *fields;
	size_t fields_len, fields_cap;
	int sent; // the head is with Go

	// Threads of the application, beside the seat's own, that are in Go for this
	// request: it does not end before they come back.
	int writing, reading;

	// M0_WHOLE: the body, in copy when it is short, else borrowed from keep.
	const char *body;
	size_t body_len;
	char *copy;
	size_t copy_cap;
	PyObject *keep;
} m0_call;

// m0_ref is an m0_call as Go hands it over for each request: as a number, which is not
// searched for pointers to Go's memory.
typedef uintptr_t m0_ref;

// m0_load finds the interpreter's functions, see m0_api_load.
const char *m0_load(const char *library);

// m0_fine_timers undoes, for this thread, what keeps Go's sysmon from waking in vain.
void m0_fine_timers(void);

// m0_module makes the module m0serve._native.
PyObject *m0_module(void);

// m0_embed initialises an interpreter in this process under the name of program
// and runs source with the name "native" bound to the module. It returns the exit
// status.
int m0_embed(const char *program, const char *source);

// Seats.
m0_call *m0_seat_open(int seat);
void m0_lock(m0_call *call);
void m0_unlock(m0_call *call);
void m0_sleep(m0_call *call);
void m0_rouse(m0_call *call);
void m0_nap(void);

// m0_wsgi calls the application. pack is the request: length-prefixed strings
// in the order of enum m0_part, then pairs of name and value. body_len is -1 when
// the body is read through Go.
int m0_wsgi(m0_ref call, const char *pack, size_t pack_len, const char *body,
	    ssize_t body_len);

// m0_wsgi_done gives back what M0_WHOLE kept.
void m0_wsgi_done(m0_call *call);

// The bounds of the head of an answer, and of what is kept of a buffer for the next.
enum { M0_HEAD_MAX = 16 << 20, M0_KEEP_MAX = 64 << 10 };

enum m0_part {
	M0_METHOD,
	M0_PATH,
	M0_QUERY,
	M0_TARGET,
	M0_PROTOCOL,
	M0_PEER,
	M0_PEER_PORT,
	M0_SCHEME,
	M0_PARTS, // fields begin here
};

// m0_close_in_child says which descriptors a forked child must not keep.
void m0_close_in_child(const int *fds, int n);

// m0_forget removes a variable of the environment, and overwrites it.
void m0_forget(const char *name);

// m0_forked is true in a child made by fork: no Go code may run there.
int m0_forked(void);

// The names of the functions that Go exports to the shim.
extern char *m0GoOptions(void);
extern char *m0GoSource(char *module);
extern char *m0GoStart(char *kind);
extern char *m0GoSit(void);
extern int m0GoStatus(void);
extern void m0GoLog(char *level, char *text);
extern int m0GoWrite(m0_call *call, char *data, size_t len, int may_block);
extern int m0GoFile(m0_call *call, int fd, long long at);
extern ssize_t m0GoRead(m0_call *call, char *data, size_t len);
extern void m0GoBreak(m0_call *call); // ends every m0GoRead

// What Go answers.
enum {
	M0_OK = 0,
	M0_WOULD_BLOCK = 1, // m0GoWrite: again, without the lock
	M0_SLOW = 2,        // taken, but the client does not keep up
	M0_GONE = -1,       // the client is
	M0_INVALID = -2,    // this cannot be sent
};

// ASGI. Events are written by Go, in the order and shape that take_event reads.
typedef struct {
	char *data;
	size_t len, cap;
} m0_events;

enum {
	M0_REQUEST, M0_DATA, M0_GONE_AWAY, M0_DRAINED, M0_CONNECT, M0_MESSAGE, M0_CLOSED,
	M0_HEARD, // its token is a subscription's
	M0_STOP, // from here on without a token
	M0_ENDED,
};

enum { M0_WANT, M0_FINISH, M0_ABORT };

extern int m0GoAttach(int *poller, int *wakes);
extern void m0GoTurn(m0_events *events);
extern int m0GoRespond(uint32_t token, int status, char *fields, size_t fields_len, char *body,
		       size_t len, int more);
extern int m0GoSend(uint32_t token, char *body, size_t len, int more);
extern int m0GoFields(uint32_t token, char *fields, size_t fields_len, int is_trailers);
extern void m0GoEnd(uint32_t token, int how);
extern int m0GoAccept(uint32_t token, char *subprotocol, char *fields, size_t fields_len);
extern void m0GoRoom(uint32_t token, int messages);
extern int m0GoSendMessage(uint32_t token, char *data, size_t len, int is_text);
extern int m0GoClose(uint32_t token, int code, char *reason);

// Channels. A text is valid during the call.
typedef struct {
	char *at;
	size_t len;
} m0_text;

enum { M0_NOTHING, M0_COMES, M0_MISSING, M0_OVER };

#define M0_NO_TOKEN UINT32_MAX

// What is wrong is M0_INVALID or M0_GONE, with a text in *wrong that the caller frees.
extern int m0GoPublish(m0_text *texts, uint64_t *id, char **wrong);
extern int m0GoSubscribe(uint32_t *token, m0_text *channel, char **wrong);
extern int m0GoReceive(uint32_t token, m0_events *events, int *missing);
extern void m0GoUnsubscribe(uint32_t token);
extern PyMethodDef m0_channel_natives[]; // ends with an empty one

// m0_asgi_init reads the base scopes. 0: done; else a Python error is set.
int m0_asgi_init(void);
extern PyMethodDef m0_asgi_natives[]; // ends with an empty one

// m0_refuse_in_child keeps a forked child out of Go: not 0, and a Python error.
int m0_refuse_in_child(void);

// The module's hooks, given to start().
extern PyObject *m0_app, *m0_base, *m0_report, *m0_input, *m0_file;

// m0_wsgi_init makes what every request uses. 0: done; else a Python error is set.
int m0_wsgi_init(void);

#endif
