// SPDX-License-Identifier: MIT

//go:build unix

package djangosite

import (
	"os/exec"
	"path/filepath"
	"testing"

	"m0serve.dev/apps/internal/pyserver"
	"m0serve.dev/apps/internal/pysite"
	"m0serve.dev/apps/internal/pyvenv"
)

var servers pyserver.Builder

func TestMain(m *testing.M) { servers.Main(m) }

// migrated is the site over a new database.
func migrated(t *testing.T) pyserver.Config {
	t.Helper()
	db := "SITE_DB=" + filepath.Join(t.TempDir(), "site.sqlite3")
	migrate := exec.Command(pyvenv.Python(t), "manage.py", "migrate", "--verbosity=0")
	migrate.Env = append(migrate.Environ(), db, "PYTHONDONTWRITEBYTECODE=1")
	if out, err := migrate.CombinedOutput(); err != nil {
		t.Fatalf("migrate: %v\n%s", err, out)
	}
	return pyserver.Config{Dir: ".", App: "mysite.wsgi:application", Env: []string{db}}
}

func TestSmokeContract(t *testing.T) {
	pysite.Site{Prepare: migrated, IgnoresChunks: true}.Contract(t, &servers)
}
