module m0serve.dev/http

go 1.26.0

require (
	github.com/klauspost/compress v1.20.4
	golang.org/x/sys v0.50.0
	m0serve.dev/core v0.1.0
)

require github.com/cespare/xxhash/v2 v2.3.0 // indirect
