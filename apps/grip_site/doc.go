// SPDX-License-Identifier: MIT

// Package gripsite holds the black-box suite of a Django project that uses the
// packages of GRIP as they come: django-eventstream, django-grip and gripcontrol.
// The suite talks to the project through whatever holds its answers: m0serve, or
// with M0_GRIP_PROXY=pushpin the program that these packages are written for. There
// is no Go code here but the tests.
package gripsite
