// SPDX-License-Identifier: MIT

// Package mutate changes the operators of a package, all of them in one build: each
// change is behind a switch that an environment variable throws, so that a change
// costs a run of the tests and no build. The changes are those that gremlins makes by
// default: a bound, a comparison, the operator of a calculation, the sign of a number,
// the direction of a step. Expressions that are constants stay as they are.
package mutate
