module m0serve.dev/tools/rivals

go 1.26.0

require (
	github.com/dunglas/mercure v0.20.0
	github.com/go-chi/chi/v5 v5.5.0
	github.com/julienschmidt/httprouter v1.3.0
	github.com/klauspost/compress v1.20.4
	github.com/lxzan/gws v1.8.9
	github.com/r3labs/sse/v2 v2.10.0
	github.com/starfederation/datastar-go v1.2.2
	github.com/tmaxmax/go-sse v0.12.0
	github.com/valyala/fasthttp v1.78.0
	go.uber.org/zap v1.27.0
	m0serve.dev/datastar v0.1.0
	m0serve.dev/http v0.1.0
	m0serve.dev/sqlite v0.1.0
	modernc.org/sqlite v1.62.0
)
