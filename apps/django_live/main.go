// SPDX-License-Identifier: MIT

// Command django_live runs the Django project in this folder on m0serve, both of this
// checkout: a page that is live in every tab, from synchronous views. It finds or makes a
// virtual environment, builds m0serve, migrates the database and becomes m0serve. Its
// arguments are m0serve's, after those it gives itself.
package main

import (
	"fmt"
	"os"
)

func main() {
	fmt.Fprintln(os.Stderr, "django_live:", launch(os.Args[1:]))
	os.Exit(1)
}
