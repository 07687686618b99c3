// SPDX-License-Identifier: MIT

package middleware_test

import (
	"net/http"
	"strconv"
	"testing"
	"time"

	"github.com/CAFxX/httpcompression"
	kpzstd "github.com/CAFxX/httpcompression/contrib/klauspost/zstd"
	gincache "github.com/chenyahui/gin-cache"
	"github.com/chenyahui/gin-cache/persist"
	"github.com/elnormous/contenttype"
	"github.com/gin-gonic/gin"
	"github.com/gofiber/fiber/v3"
	fibercache "github.com/gofiber/fiber/v3/middleware/cache"
	fiberetag "github.com/gofiber/fiber/v3/middleware/etag"
	"github.com/klauspost/compress/gzhttp"
	"github.com/klauspost/compress/zstd"
	"github.com/munnerz/goautoneg"
	"github.com/valyala/fasthttp"

	"m0serve.dev/http/cache"
	"m0serve.dev/http/compress"
	"m0serve.dev/http/etag"
	"m0serve.dev/http/negotiate"
)

// BenchmarkNegotiate chooses among three types.
func BenchmarkNegotiate(b *testing.B) {
	offers := []string{"application/json", "text/html", "text/plain"}
	var parsed []contenttype.MediaType
	for _, o := range offers {
		parsed = append(parsed, contenttype.NewMediaType(o))
	}
	types := negotiate.NewTypes(offers...)
	for _, c := range []struct{ name, accept, want string }{
		{"one", "application/json", "application/json"},
		{"browser", "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp," +
			"*/*;q=0.8", "text/html"},
	} {
		accept := []string{c.accept}
		for name, choose := range map[string]func() string{
			"ours":      func() string { kind, _ := types.Best(accept); return kind },
			"goautoneg": func() string { return goautoneg.Negotiate(c.accept, offers) },
			"contenttype": func() string {
				kind, _, _ := contenttype.GetAcceptableMediaTypeFromHeader(c.accept, parsed)
				return kind.MIME()
			},
		} {
			b.Run(c.name+"/"+name, func(b *testing.B) {
				got := ""
				defer reportCPU(b)()
				for b.Loop() {
					got = choose()
				}
				if got != c.want {
					b.Fatalf("%q is chosen; want %q", got, c.want)
				}
			})
		}
	}
}

// fiberSide is a handler of Fiber behind one of its middlewares, with the router that
// it cannot do without. No ETag middleware of net/http is served by the module proxy.
func fiberSide(b *testing.B, mw fiber.Handler, doc []byte, fields ...string) {
	app := fiber.New()
	app.Use(mw)
	app.Get("/doc", func(c fiber.Ctx) error {
		c.Response().Header.SetContentType("application/json")
		return c.Send(doc)
	})
	h := app.Handler()
	var c fasthttp.RequestCtx
	c.Request.SetRequestURI("http://example.com/doc")
	h(&c) // a cache is filled
	for i := 0; i < len(fields); i += 2 {
		value := fields[i+1]
		if value == "" {
			value = string(c.Response.Header.Peek("Etag"))
		}
		c.Request.Header.Set(fields[i], value)
	}
	b.Run("fiber", func(b *testing.B) {
		defer reportCPU(b)()
		for b.Loop() {
			c.Response.Reset()
			h(&c)
		}
		if status := c.Response.StatusCode(); status != 200 && status != 304 {
			b.Fatalf("the answer is %d", status)
		}
	})
}

// BenchmarkETag tags a document, and finds that the client has it.
func BenchmarkETag(b *testing.B) {
	for _, c := range []struct {
		name string
		doc  []byte
	}{{"1KB", document(1000)}, {"50KB", document(50_000)}} {
		ours := etag.Tagger{}.Wrap(jsonOf(c.doc))
		b.Run("200/"+c.name, func(b *testing.B) {
			serve(b, newRequest(b, "GET", "/doc"), http.StatusOK, side{"ours", ours})
			fiberSide(b, fiberetag.New(fiberetag.Config{Weak: true}), c.doc)
		})
		b.Run("304/"+c.name, func(b *testing.B) {
			r := newRequest(b, "GET", "/doc", "If-None-Match", etag.Of(c.doc))
			serve(b, r, http.StatusNotModified, side{"ours", ours})
			fiberSide(b, fiberetag.New(fiberetag.Config{Weak: true}), c.doc, "If-None-Match", "")
		})
	}
}

// entriesMax is how many answers the caches keep that are missed.
const entriesMax = 4096

// ginSide is gin with a cache, which is its middleware and of no use without it.
func ginSide(doc []byte) side {
	gin.SetMode(gin.ReleaseMode)
	g := gin.New()
	store := persist.NewMemoryStore(time.Hour)
	store.Cache.SetCacheSizeLimit(entriesMax)
	g.Use(gincache.CacheByRequestURI(store, time.Hour))
	g.GET("/*path", gin.WrapH(jsonOf(doc)))
	return side{"gin", g}
}

func BenchmarkCache(b *testing.B) {
	doc := document(1000)
	b.Run("hit", func(b *testing.B) {
		kept := cache.New(cache.Config{})
		defer kept.Close()
		r := newRequest(b, "GET", "/doc")
		serve(b, r, http.StatusOK, side{"ours", kept.Wrap(jsonOf(doc))}, ginSide(doc))
		fiberSide(b, fibercache.New(fibercache.Config{Expiration: time.Hour}), doc)
		if s := kept.Stats(); s.Hits == 0 || s.Misses != 1 {
			b.Fatalf("%d hits and %d misses; want one miss", s.Hits, s.Misses)
		}
	})
	b.Run("miss", func(b *testing.B) {
		kept := cache.New(cache.Config{MaxEntries: entriesMax})
		defer kept.Close()
		miss(b, side{"ours", kept.Wrap(jsonOf(doc))})
		if s := kept.Stats(); s.Hits != 0 {
			b.Fatalf("%d hits and %d misses; want no hit", s.Hits, s.Misses)
		}
		miss(b, ginSide(doc))
	})
}

// miss asks a cache that is full for something else each time.
func miss(b *testing.B, s side) {
	b.Run(s.name, func(b *testing.B) {
		w := &nobody{header: http.Header{}}
		r, fresh := newRequest(b, "GET", "/doc"), new(http.Request)
		u := *r.URL
		n := 0
		ask := func() {
			w.reset()
			n++
			u.Path = "/doc/" + strconv.Itoa(n)
			*fresh = *r
			fresh.URL, fresh.RequestURI = &u, u.Path
			s.handler.ServeHTTP(w, fresh)
		}
		for range 2 * entriesMax {
			ask()
		}
		defer reportCPU(b)()
		for b.Loop() {
			ask()
		}
		if w.status != http.StatusOK || w.bytes == 0 {
			b.Fatalf("the answer is %d with %d bytes", w.status, w.bytes)
		}
	})
}

// BenchmarkCompress codes a document. gzhttp has our levels: its default for zstd is a
// quicker one, which codes to more bytes. httpcompression has our coder of zstd and its
// own of gzip.
func BenchmarkCompress(b *testing.B) {
	coder, err := kpzstd.New(zstd.WithEncoderConcurrency(1), zstd.WithLowerEncoderMem(true),
		zstd.WithWindowSize(256<<10)) // as ours: its own default takes half as much memory again
	if err != nil {
		b.Fatal(err)
	}
	adapter, err := httpcompression.DefaultAdapter(httpcompression.ZstandardCompressor(coder))
	if err != nil {
		b.Fatal(err)
	}
	gz, err := gzhttp.NewWrapper(gzhttp.EnableZstd(true),
		gzhttp.ZstdCompressionLevel(int(zstd.SpeedDefault)))
	if err != nil {
		b.Fatal(err)
	}
	for _, c := range []struct {
		name string
		doc  []byte
	}{{"1KB", document(1024)}, {"50KB", document(50_000)}} {
		next := jsonOf(c.doc)
		sides := []side{
			{"ours", compress.New(compress.Config{}).Wrap(next)}, {"gzhttp", gz(next)},
			{"httpcompression", adapter(next)},
		}
		for _, coding := range []string{"gzip", "zstd"} {
			b.Run(coding+"/"+c.name, func(b *testing.B) {
				serve(b, newRequest(b, "GET", "/doc", "Accept-Encoding", coding), http.StatusOK, sides...)
			})
		}
	}
}
