// SPDX-License-Identifier: MIT

// Package systemd speaks with a service manager of the kind of systemd, over the
// names that it puts into the environment of what it starts: a [Notifier] tells
// it when the service is ready, reloads, stops and lives (sd_notify(3)), and
// [AdoptSockets] takes over the listeners that it opened (sd_listen_fds(3)).
//
// Both take the names out of the environment, so that no child process answers
// in this one's name. Without a manager both return nothing, and a nil Notifier
// tells nobody, so that callers need not ask.
//
// It starts no goroutine. It does not hand descriptors back (FDSTORE=1) and does
// not speak to a manager over a virtual machine's socket (vsock).
package systemd
