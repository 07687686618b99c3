// SPDX-License-Identifier: MIT

// Package cpu says which instructions the assembly of core may use. It asks the
// processor itself, so that core needs no other module for it. Built with the
// tag purego, or for another architecture, it says none.
package cpu
