module m0serve.dev/tools/rivals

go 1.26.0

require (
	github.com/starfederation/datastar-go v1.2.2
	github.com/valyala/fasthttp v1.78.0
	m0serve.dev/datastar v0.1.0
	m0serve.dev/http v0.1.0
	m0serve.dev/sqlite v0.1.0
	modernc.org/sqlite v1.62.0
)
