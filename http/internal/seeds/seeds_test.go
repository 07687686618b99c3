// SPDX-License-Identifier: MIT

package seeds

import (
	"slices"
	"testing"
)

// TestEach: the environment decides before -short does.
func TestEach(t *testing.T) {
	usual := []uint64{0, 1, 2}
	if testing.Short() {
		usual = []uint64{0}
	}
	for _, c := range []struct {
		seed, seeds string
		want        []uint64
	}{
		{"", "", usual}, {"", "2", []uint64{0, 1}}, {"77", "", []uint64{77}}, {"77", "2", []uint64{77}},
	} {
		t.Setenv("M0_SEED", c.seed)
		t.Setenv("M0_SEEDS", c.seeds)
		var got []uint64
		Each(t, 3, 1, func(seed uint64) { got = append(got, seed) })
		if !slices.Equal(got, c.want) {
			t.Errorf("M0_SEED=%s M0_SEEDS=%s: ran %d, want %d", c.seed, c.seeds, got, c.want)
		}
	}
}

// TestCommand: what is printed can be pasted.
func TestCommand(t *testing.T) {
	want := "M0_SEED=7 go test -count=1 -run '^TestX$' ./internal/seeds"
	if got := command("TestX", 7); got != want {
		t.Errorf("command = %q, want %q", got, want)
	}
}
