// SPDX-License-Identifier: MIT

// Package flasksite holds the smoke test of a small Flask site, which is held
// to the contract that django_site is held to as well. There is no Go code here but
// the test.
package flasksite
