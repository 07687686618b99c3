// SPDX-License-Identifier: MIT

//go:build !race

package server_test

const raceEnabled = false
