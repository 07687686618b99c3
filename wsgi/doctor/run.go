// SPDX-License-Identifier: MIT

package doctor

import (
	"context"
	"os"

	"m0serve.dev/http/config"
	"m0serve.dev/http/config/diagnosis"
)

// Run examines, prints to out and returns the exit status: 0 when m0serve would
// serve, 78 when not.
func Run(ctx context.Context, c Config, out *os.File) int {
	r := Examine(ctx, c)
	if r.Print(out, diagnosis.IsTerminal(out)) != nil || !r.OK() {
		return config.ExitConfig
	}
	return 0
}
