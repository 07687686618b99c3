// SPDX-License-Identifier: MIT

package faults

// sysPrlimit is the number of prlimit64.
const sysPrlimit = 261
