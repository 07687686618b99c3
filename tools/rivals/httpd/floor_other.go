// SPDX-License-Identifier: MIT

//go:build !linux

package main

import (
	"errors"
	"net"
)

func serveFloor(net.Listener) error { return errors.New("the floor is of epoll") }
