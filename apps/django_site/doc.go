// SPDX-License-Identifier: MIT

// Package djangosite holds the smoke test of a small Django project, which is held
// to the contract that flask_site is held to as well. There is no Go code here but
// the test.
package djangosite
