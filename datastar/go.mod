module m0serve.dev/datastar

go 1.26.0

require (
	m0serve.dev/core v0.1.0
	m0serve.dev/http v0.1.0
)

require golang.org/x/sys v0.50.0 // indirect
