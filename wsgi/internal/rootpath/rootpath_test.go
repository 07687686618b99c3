// SPDX-License-Identifier: MIT

package rootpath

import "testing"

func TestBelow(t *testing.T) {
	for _, tt := range []struct{ path, root, want string }{
		{"/a", "", "/a"}, {"", "/app", ""}, {"/app", "/app", ""}, {"/app/", "/app", "/"},
		{"/app/a", "/app", "/a"}, {"/apple", "/app", "/apple"}, {"/b/app/a", "/app", "/b/app/a"},
		{"/app/app/a", "/app", "/app/a"}, {"/ap", "/app", "/ap"},
	} {
		if got := string(Below([]byte(tt.path), tt.root)); got != tt.want {
			t.Errorf("Below(%q, %q) = %q, want %q", tt.path, tt.root, got, tt.want)
		}
	}
}
