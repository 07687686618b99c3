// SPDX-License-Identifier: MIT

package metrics

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"m0serve.dev/http/loop"
	"m0serve.dev/http/sse"
)

// reader prints what Prometheus's own package for Python reads, sample by sample.
const reader = `
import sys
if sys.argv[1] == "open":
    from prometheus_client.openmetrics.parser import text_string_to_metric_families as parse
else:
    from prometheus_client.parser import text_string_to_metric_families as parse
for family in parse(sys.stdin.buffer.read().decode("utf-8")):
    for s in family.samples:
        print(family.type, s.name, sorted(s.labels.items()), float(s.value))
`

// python is the interpreter that has prometheus_client.
func python(t *testing.T) string {
	t.Helper()
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Skipf("no cache folder: %v", err)
	}
	path := filepath.Join(cache, "m0", "venv", "bin", "python")
	if err := exec.Command(path, "-c", "import prometheus_client").Run(); err != nil {
		t.Skipf("prometheus_client is not in the environment for tests: %v", err)
	}
	return path
}

// TestPrometheusReadsIt: a parser that we did not write takes both formats, and
// finds in them what is there.
func TestPrometheusReadsIt(t *testing.T) {
	interpreter := python(t)
	r := everything()
	Engine(r, func() loop.Stats { return loop.Stats{Conns: 3} })
	Streams(r, func() sse.HubStats { return sse.HubStats{} })
	Workers(r, func() []Worker { return []Worker{{Index: 1}} })
	for format, kind := range map[string]string{"open": OpenMetrics, "plain": Plain} {
		cmd := exec.Command(interpreter, "-c", reader, format)
		cmd.Stdin = bytes.NewReader(r.Append(nil, kind))
		var stderr strings.Builder
		cmd.Stderr = &stderr
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%s: %v: %s", format, err, stderr.String())
		}
		for _, want := range []string{
			`sold_total [('kind', ''), ('to', '"}')] 2.0`,
			`build_info [('bad', '` + "\uFFFD" + `'), ('version', '1"2\\3\n4')] 1.0`,
			"histogram took_seconds_bucket [('le', '1000000.0'), ('what', 'x')] 4.0",
			"gauge m0_connections [] 3.0", "counter m0_service_taken_total [] 0.0",
		} {
			if !strings.Contains(string(out), want+"\n") {
				t.Errorf("%s: prometheus_client does not read %q but\n%s", format, want, out)
			}
		}
	}
}
