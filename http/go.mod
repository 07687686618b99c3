module m0serve.dev/http

go 1.26.0

require golang.org/x/sys v0.50.0
