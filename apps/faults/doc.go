// SPDX-License-Identifier: MIT

// Package faults makes faults from outside on real binaries under load, and holds a
// ledger of every request and every event against what the house promises. README.md
// says what each fault is, how it is made, and which test sees it.
package faults
