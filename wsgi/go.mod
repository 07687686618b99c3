module m0serve.dev/wsgi

go 1.26.0
