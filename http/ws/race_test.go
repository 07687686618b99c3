// SPDX-License-Identifier: MIT

//go:build race

package ws_test

const racing = true
