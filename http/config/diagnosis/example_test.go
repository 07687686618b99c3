// SPDX-License-Identifier: MIT

package diagnosis_test

import (
	"fmt"
	"os"

	"m0serve.dev/http/config/diagnosis"
)

func ExampleReport() {
	report := diagnosis.Report{Title: "shop 1.0"}
	report.Add("Settings", diagnosis.Good, "workers", "2, from $M0_WORKERS", "")
	report.Add("Files", diagnosis.Problem, "database", "shop.db cannot be written",
		"chown it to the user that serves")
	if err := report.Print(os.Stdout, false); err != nil {
		fmt.Println(err)
	}
	fmt.Println(report.OK())
	// Output:
	// shop 1.0 doctor
	//
	// Settings
	//   ok   workers   2, from $M0_WORKERS
	//
	// Files
	//   FAIL database  shop.db cannot be written
	//                  → chown it to the user that serves
	//
	// 1 problem. Nothing would be served.
	// false
}
