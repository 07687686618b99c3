// SPDX-License-Identifier: MIT

package cpu

import (
	"os"
	"runtime"
	"strings"
	"testing"
)

// TestHasAVX2 compares what the processor says with what Linux says of it.
func TestHasAVX2(t *testing.T) {
	info, err := os.ReadFile("/proc/cpuinfo")
	if err != nil || runtime.GOARCH != "amd64" {
		t.Skip("no flags of an amd64 processor to compare with")
	}
	flags := " " + strings.ReplaceAll(string(info), "\n", " \n") + " "
	want := strings.Contains(flags, " avx2 ") && strings.Contains(flags, " bmi2 ")
	if HasAVX2 && !want {
		t.Errorf("HasAVX2 = true, want false as the system says")
	}
	t.Logf("HasAVX2 = %v, the system says %v", HasAVX2, want)
}
