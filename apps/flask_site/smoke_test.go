// SPDX-License-Identifier: MIT

//go:build unix

package flasksite

import (
	"path/filepath"
	"testing"

	"m0serve.dev/apps/internal/pyserver"
	"m0serve.dev/apps/internal/pysite"
)

var servers pyserver.Builder

func TestMain(m *testing.M) { servers.Main(m) }

// empty is the site over a new database.
func empty(t *testing.T) pyserver.Config {
	t.Helper()
	db := "SITE_DB=" + filepath.Join(t.TempDir(), "site.sqlite3")
	return pyserver.Config{Dir: ".", App: "app:app", Env: []string{db}}
}

func TestSmokeContract(t *testing.T) {
	pysite.Site{Prepare: empty, ReadsAll: true}.Contract(t, &servers)
}
