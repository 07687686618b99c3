module m0serve.dev/wsgi

go 1.26.0

require (
	m0serve.dev/core v0.1.0
	m0serve.dev/http v0.1.0
)

require github.com/jackc/pgx/v5 v5.13.0

require (
	github.com/cespare/xxhash/v2 v2.3.0 // indirect
	github.com/jackc/pgpassfile v1.0.0 // indirect
	github.com/jackc/pgservicefile v0.0.0-20240606120523-5a60cdf6a761 // indirect
	golang.org/x/sys v0.50.0 // indirect
	golang.org/x/text v0.41.0 // indirect
)
