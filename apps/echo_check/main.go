// SPDX-License-Identifier: MIT

// Command echo_check answers any request with its body and counts what reached
// it: the server that the corpora of bad and edge requests are run against.
package main

import "os"

func main() { os.Exit(run(os.Args[1:], os.Stderr)) }
