module m0serve.dev/tools

go 1.26.0
