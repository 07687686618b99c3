// SPDX-License-Identifier: MIT

package etag

import (
	"net/http"
	"slices"
	"strconv"
	"sync"

	"m0serve.dev/http/middleware"
	"m0serve.dev/http/negotiate"
)

// PatchConfig says how the patches of one resource are kept and sent. The zero
// value is useful.
type PatchConfig struct {
	Patches int // kept at most; 0 is 64, negative none
	Bytes   int // of all patches kept; 0 is 1 MiB
	// ContentType is that of an answer with patches; "" is
	// application/octet-stream.
	ContentType string
	// Join puts several patches into one body; nil is one behind the other.
	Join func(patches [][]byte) []byte
	// Name is what a client has to ask for in A-IM to get patches (RFC 3229
	// section 10.5.3). "": whoever sends the tag of an older version gets them.
	// A browser does so by itself, for a page that it has kept, so name one where
	// browsers ask for the resource other than by a script.
	Name string
}

// A PatchJournal keeps the last changes of one resource, each with the entity
// tag it led to, so that a client that holds an older version gets the changes
// since, in one answer, and not the whole (contract row H9). Its methods may be
// called from any goroutine.
//
// What has to be of one piece is the application's part: it changes the resource
// and calls Append under the lock under which it renders the whole and reads
// Tag. Otherwise a client applies a patch to what holds it already.
type PatchJournal struct {
	cfg PatchConfig

	mu      sync.Mutex
	base    string // the version before the oldest patch
	patches []patch
	bytes   int
}

// A patch led from the version before to tag.
type patch struct {
	tag  string
	body []byte
}

// NewPatchJournal makes a journal for a resource whose entity tag is tag.
func NewPatchJournal(cfg PatchConfig, tag string) *PatchJournal {
	if cfg.Patches == 0 {
		cfg.Patches = 64
	}
	if cfg.Bytes == 0 {
		cfg.Bytes = 1 << 20
	}
	if cfg.ContentType == "" {
		cfg.ContentType = "application/octet-stream"
	}
	if cfg.Join == nil {
		cfg.Join = func(patches [][]byte) []byte { return slices.Concat(patches...) }
	}
	return &PatchJournal{cfg: cfg, base: tag}
}

// Tag is the entity tag of the current version.
func (j *PatchJournal) Tag() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.tagLocked()
}

func (j *PatchJournal) tagLocked() string {
	if n := len(j.patches); n > 0 {
		return j.patches[n-1].tag
	}
	return j.base
}

// Append says that body, which the journal keeps, leads from the current version
// to tag. The oldest patches go where a bound is passed. A tag that was there
// before, as when a change is undone, may come again.
func (j *PatchJournal) Append(tag string, body []byte) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.patches = append(j.patches, patch{tag, body})
	j.bytes += len(body)
	for len(j.patches) > 0 && (len(j.patches) > j.cfg.Patches || j.bytes > j.cfg.Bytes) {
		oldest := j.patches[0]
		j.base, j.bytes = oldest.tag, j.bytes-len(oldest.body)
		j.patches[0] = patch{}
		j.patches = j.patches[1:]
	}
}

// Reset says that the resource changed to tag in a way that no patch tells.
func (j *PatchJournal) Reset(tag string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.base, j.patches, j.bytes = tag, nil, 0
}

// Len is the number of patches kept, and Bytes their size.
func (j *PatchJournal) Len() int {
	j.mu.Lock()
	defer j.mu.Unlock()
	return len(j.patches)
}

// Bytes is the size of the patches kept.
func (j *PatchJournal) Bytes() int {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.bytes
}

// Since gives the patches that lead from the newest version that one of the
// lines of If-None-Match names to the current one, which is tag, and the version
// they begin at. known is false where the journal knows none of them: the client
// needs the whole. No patches and known is a client that is up to date. "*"
// names no version.
func (j *PatchJournal) Since(ifNoneMatch ...string) (patches [][]byte, base, tag string,
	known bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	tag = j.tagLocked()
	for at := len(j.patches); at >= 0; at-- {
		version := j.base
		if at > 0 {
			version = j.patches[at-1].tag
		}
		if !namesVersion(ifNoneMatch, version) {
			continue
		}
		for _, p := range j.patches[at:] {
			patches = append(patches, p.body)
		}
		return patches, version, tag, true
	}
	return nil, "", tag, false
}

func namesVersion(lines []string, version string) bool {
	for _, line := range lines {
		if line != "*" && Match(line, version, false) {
			return true
		}
	}
	return false
}

// Serve answers a GET or HEAD: 304 to a client that is up to date, 226 (RFC 3229)
// with the patches since to one whose version the journal knows, with the tag
// they lead to in ETag and the one they begin at in Delta-Base; and all others
// it leaves to whole, which answers with the resource and sets its ETag itself.
// No cache keeps an answer with patches.
func (j *PatchJournal) Serve(w http.ResponseWriter, r *http.Request, whole http.HandlerFunc) {
	if j.cfg.Name != "" {
		middleware.AddVary(w.Header(), "A-IM")
	}
	lines := r.Header["If-None-Match"]
	if len(lines) == 0 || r.Method != http.MethodGet && r.Method != http.MethodHead {
		whole(w, r)
		return
	}
	patches, base, tag, known := j.Since(lines...)
	h := w.Header()
	switch {
	case known && len(patches) == 0:
		h.Set("ETag", tag)
		NotModified(w)
	case !known || !j.isAsked(r):
		whole(w, r)
	default:
		body := j.cfg.Join(patches)
		h.Set("ETag", tag)
		h.Set("Delta-Base", base)
		h.Set("Content-Type", j.cfg.ContentType)
		h.Set("Content-Length", strconv.Itoa(len(body)))
		h.Set("Cache-Control", "no-store")
		if j.cfg.Name != "" {
			h.Set("IM", j.cfg.Name)
		}
		w.WriteHeader(http.StatusIMUsed)
		if r.Method != http.MethodHead {
			_, _ = w.Write(body) // the peer may be gone: nobody is left to tell
		}
	}
}

// isAsked reports whether A-IM, which is written as Accept-Encoding is, asks for
// the patches.
func (j *PatchJournal) isAsked(r *http.Request) bool {
	if j.cfg.Name == "" {
		return true
	}
	name, _ := negotiate.Encoding(r.Header[http.CanonicalHeaderKey("A-IM")], j.cfg.Name)
	return name != ""
}
