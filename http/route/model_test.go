// SPDX-License-Identifier: MIT

package route

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// A modelRoute is a pattern as the documentation has it, without a tree.
type modelRoute struct {
	method, source string
	segments       []string
}

// fit says how the route matches path, one digit a segment: text is 0, a name 1,
// the rest 2.
func (m *modelRoute) fit(path []string) (how string, ok bool) {
	for i, segment := range m.segments {
		switch {
		case strings.HasPrefix(segment, "*"):
			return how + "2", i < len(path)
		case i >= len(path):
			return "", false
		case strings.HasPrefix(segment, ":"):
			if path[i] == "" {
				return "", false
			}
			how += "1"
		case segment != path[i]:
			return "", false
		default:
			how += "0"
		}
	}
	return how, len(m.segments) == len(path)
}

// methodFit is how well the route serves method, 9 when it does not.
func (m *modelRoute) methodFit(method string) int {
	switch {
	case m.method == method:
		return 0
	case m.method == http.MethodGet && method == http.MethodHead:
		return 1
	case m.method == "":
		return 2
	}
	return 9
}

// model finds the pattern by comparing all of them.
func model(routes []modelRoute, method, target string) (pattern string) {
	path := strings.Split(target[1:], "/")
	best := "~"
	for _, m := range routes {
		how, ok := m.fit(path)
		by := m.methodFit(method)
		if key := fmt.Sprintf("%s.%d", how, by); ok && by != 9 && key < best {
			best, pattern = key, m.source
		}
	}
	return pattern
}

// TestFindLikeModel compares the tree with the model, on tables and paths made of
// few words, so that they meet often.
func TestFindLikeModel(t *testing.T) {
	const tables, paths = 300, 60
	words := []string{"a", "ab", "abc", "b", "", ":x", ":y", "*r"}
	methods := []string{"", "GET ", "POST ", "HEAD ", "OPTIONS "}
	found := 0
	for seed := range uint64(tables) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		rt, routes := New(), []modelRoute(nil)
		for range 14 {
			segments := randomPath(rnd, words)
			pat := methods[rnd.IntN(len(methods))] + "/" + strings.Join(segments, "/")
			if !tryHandle(rt, pat) {
				continue // the same as an earlier one, or none
			}
			method, _, _ := strings.Cut(pat, "/")
			routes = append(routes, modelRoute{strings.TrimSpace(method), pat, segments})
		}
		for range paths {
			target := "/" + strings.Join(randomPath(rnd, words[:5]), "/")
			method := []string{"GET", "HEAD", "POST", "PUT", "OPTIONS"}[rnd.IntN(5)]
			r := httptest.NewRequest(method, "/", nil)
			r.URL.Path = target
			rt.ServeHTTP(httptest.NewRecorder(), r)
			want := model(routes, method, target)
			if r.Pattern != want {
				t.Fatalf("seed %d: %s %s finds %q; want %q of %q", seed, method, target, r.Pattern,
					want, routes)
			}
			if want != "" {
				found++
			}
		}
	}
	if found < tables*paths/10 {
		t.Errorf("%d of %d paths were found: the comparison says little", found, tables*paths)
	}
}

func randomPath(rnd *rand.Rand, words []string) (segments []string) {
	for range 1 + rnd.IntN(4) {
		word := words[rnd.IntN(len(words))]
		if segments = append(segments, word); strings.HasPrefix(word, "*") {
			break
		}
	}
	return segments
}

func tryHandle(rt *Router, pat string) (ok bool) {
	defer func() { ok = recover() == nil && ok }()
	if strings.Count(pat, ":x") > 1 || strings.Count(pat, ":y") > 1 {
		return false
	}
	rt.HandleFunc(pat, func(http.ResponseWriter, *http.Request) {})
	return true
}
