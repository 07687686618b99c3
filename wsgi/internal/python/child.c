// SPDX-License-Identifier: MIT
//go:build linux

// Children made by fork: Go's runtime is not there, and must not be entered. What
// runs here may not allocate, since another thread may have had the allocator.

#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "shim.h"

static int *child_fds, child_fds_n;

// Where the server listens: for requests, and for publishers.
static struct {
	struct sockaddr_storage at;
	socklen_t len;
} doors[2];
static int doors_n;

static int forked;

int m0_forked(void)
{
	return forked;
}

// is_of_door reports whether fd is the listener of door i, or a connection that it
// accepted: both have the listener's address as their own.
static int is_of_door(int fd, int i)
{
	const struct sockaddr_storage *door = &doors[i].at;
	struct sockaddr_storage at;
	socklen_t len = sizeof at;
	if (getsockname(fd, (struct sockaddr *)&at, &len) || at.ss_family != door->ss_family)
		return 0;
	if (at.ss_family == AF_INET) {
		const struct sockaddr_in *a = (void *)&at, *d = (void *)door;
		return a->sin_port == d->sin_port && (d->sin_addr.s_addr == INADDR_ANY ||
						      a->sin_addr.s_addr == d->sin_addr.s_addr);
	}
	if (at.ss_family == AF_INET6) {
		const struct sockaddr_in6 *a = (void *)&at, *d = (void *)door;
		return a->sin6_port == d->sin6_port &&
		       (!memcmp(&d->sin6_addr, &in6addr_any, sizeof in6addr_any) ||
			!memcmp(&d->sin6_addr, &a->sin6_addr, sizeof a->sin6_addr));
	}
	return len == doors[i].len && !memcmp(&at, door, len);
}

static int is_of_a_door(int fd)
{
	for (int i = 0; i < doors_n; i++)
		if (is_of_door(fd, i))
			return 1;
	return 0;
}

// number is the name of a descriptor in /proc/self/fd; -1: it is none.
static int number(const char *name)
{
	int n = 0;
	if (!*name)
		return -1;
	for (; *name; name++) {
		if (*name < '0' || *name > '9')
			return -1;
		n = 10 * n + *name - '0';
	}
	return n;
}

// An entry of a directory, as the kernel gives it.
typedef struct {
	uint64_t inode;
	int64_t next;
	unsigned short size;
	unsigned char type;
	char name[];
} entry;

// close_doors closes every descriptor that is of a door.
static void close_doors(void)
{
	char buf[4096] __attribute__((aligned(8)));
	int dir = open("/proc/self/fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	long n;
	if (dir < 0)
		return;
	while ((n = syscall(SYS_getdents64, dir, buf, sizeof buf)) > 0)
		for (long i = 0; i < n; i += ((entry *)(buf + i))->size) {
			int fd = number(((entry *)(buf + i))->name);
			if (fd > 2 && fd != dir && is_of_a_door(fd))
				close(fd);
		}
	close(dir);
}

// in_child makes a child an ordinary process: signals do what they do by default,
// and the listeners, their connections and the bus are the parent's alone.
static void in_child(void)
{
	static const int signals[] = {SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2,
				      SIGCHLD, SIGSEGV, SIGBUS, SIGFPE, SIGURG, SIGABRT};
	if (forked++)
		return; // a child's child
	for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
		signal(signals[i], SIG_DFL);
	for (int i = 0; i < child_fds_n; i++)
		close(child_fds[i]);
	close_doors();
}

void m0_close_in_child(const int *fds, int n)
{
	static int registered;
	if (registered || !(child_fds = malloc(sizeof *fds * (size_t)(n + 1))))
		return;
	for (int i = 0; i < n; i++) {
		int listens = 0;
		socklen_t len = sizeof listens;
		if (!getsockopt(fds[i], SOL_SOCKET, SO_ACCEPTCONN, &listens, &len) && listens &&
		    doors_n < 2) {
			doors[doors_n].len = sizeof doors->at;
			if (!getsockname(fds[i], (struct sockaddr *)&doors[doors_n].at,
					 &doors[doors_n].len))
				doors_n++;
		} else {
			child_fds[child_fds_n++] = fds[i];
		}
	}
	registered = 1;
	pthread_atfork(NULL, NULL, in_child);
}

void m0_forget(const char *name)
{
	char *value = getenv(name); // in the memory that /proc/PID/environ shows
	if (value)
		memset(value, 0, strlen(value));
	unsetenv(name);
}
