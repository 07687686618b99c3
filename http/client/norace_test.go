// SPDX-License-Identifier: MIT

//go:build !race

package client

const racing = false
