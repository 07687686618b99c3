// SPDX-License-Identifier: MIT

// Package dsclient has tests alone: what datastar/attr writes works in the real client in a real
// browser, and what datastar/lint says of a page is what happens there.
package dsclient
