module m0serve.dev/apps

go 1.26.0

require (
	m0serve.dev/core v0.1.0
	m0serve.dev/datastar v0.1.0
	m0serve.dev/host v0.1.0
	m0serve.dev/http v0.1.0
	m0serve.dev/sqlite v0.1.0
)

require (
	github.com/chromedp/cdproto v0.160.1
	github.com/chromedp/chromedp v0.23.1
)
