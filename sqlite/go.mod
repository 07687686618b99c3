module m0serve.dev/sqlite

go 1.26

require (
	modernc.org/libc v1.80.1
	modernc.org/sqlite v1.62.0
)
