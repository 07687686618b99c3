// SPDX-License-Identifier: MIT

package wire

// CanonicalName spells a field name as net/http does (Content-Type), so that it
// can be a key of an http.Header. Names in common use cost no allocation.
func CanonicalName(name []byte) string {
	if len(name) < len(knownNames) {
		for _, known := range knownNames[len(name)] {
			if string(name) == known { // as nearly all clients spell it
				return known
			}
		}
		for _, known := range knownNames[len(name)] {
			if sameFold(name, known) {
				return known
			}
		}
	}
	spelt := make([]byte, len(name))
	upper := true
	for i, c := range name {
		switch {
		case upper && c >= 'a' && c <= 'z':
			c -= 'a' - 'A'
		case !upper && c >= 'A' && c <= 'Z':
			c += 'a' - 'A'
		}
		spelt[i] = c
		upper = c == '-'
	}
	return string(spelt)
}

// sameFold compares a name on the wire with a known one, letters without case.
func sameFold(name []byte, known string) bool {
	if name[0]|0x20 != known[0]|0x20 || len(name) != len(known) {
		return false
	}
	for i := len(name) - 1; i > 0; i-- {
		if name[i]|0x20 != known[i]|0x20 {
			return false
		}
	}
	return true
}

// MethodName returns method as a string, without allocation for those in use.
func MethodName(method []byte) string {
	switch string(method) {
	case "GET":
		return "GET"
	case "POST":
		return "POST"
	case "HEAD":
		return "HEAD"
	case "PUT":
		return "PUT"
	case "PATCH":
		return "PATCH"
	case "DELETE":
		return "DELETE"
	case "OPTIONS":
		return "OPTIONS"
	case "QUERY":
		return "QUERY"
	case "TRACE":
		return "TRACE"
	}
	return string(method)
}

// StatusText is the reason phrase of RFC 9110 section 15 or of the IANA
// registry, or "".
func StatusText(status int) string {
	if status < 0 || status >= len(statusText) {
		return ""
	}
	return statusText[status]
}

// knownNames are names in use, by length; never written.
var knownNames = [...][]string{
	2:  {"Te"},
	3:  {"Age", "Dnt", "Via"},
	4:  {"Date", "Etag", "Host", "Link", "Vary"},
	5:  {"Allow", "Range"},
	6:  {"Accept", "Cookie", "Expect", "Origin", "Pragma", "Server"},
	7:  {"Expires", "Referer", "Trailer", "Upgrade"},
	8:  {"If-Match", "If-Range", "Location", "Priority"},
	9:  {"Forwarded", "Grip-Hold", "Sec-Ch-Ua", "X-Real-Ip"},
	10: {"Connection", "Keep-Alive", "Set-Cookie", "Tracestate", "User-Agent"},
	11: {"Retry-After", "Traceparent", "X-Csrftoken"},
	12: {"Content-Type", "Grip-Channel", "Max-Forwards", "X-Csrf-Token", "X-Request-Id"},
	13: {
		"Accept-Ranges",
		"Authorization",
		"Cache-Control",
		"Content-Range",
		"If-None-Match",
		"Last-Event-Id",
		"Last-Modified",
	},
	14: {
		"Accept-Charset",
		"Content-Length",
		"Sec-Fetch-Dest",
		"Sec-Fetch-Mode",
		"Sec-Fetch-Site",
		"Sec-Fetch-User",
	},
	15: {"Accept-Encoding", "Accept-Language", "X-Forwarded-For", "X-Frame-Options"},
	16: {
		"Content-Encoding",
		"Content-Language",
		"Content-Location",
		"Proxy-Connection",
		"Sec-Ch-Ua-Mobile",
		"Www-Authenticate",
		"X-Forwarded-Host",
		"X-Forwarded-Port",
		"X-Requested-With",
	},
	17: {"If-Modified-Since", "Sec-Websocket-Key", "Transfer-Encoding", "X-Forwarded-Proto"},
	18: {"Sec-Ch-Ua-Platform"},
	19: {"Content-Disposition", "If-Unmodified-Since", "Proxy-Authorization"},
	21: {"Sec-Websocket-Version"},
	22: {"Sec-Websocket-Protocol", "X-Content-Type-Options"},
	23: {"Content-Security-Policy"},
	24: {"Sec-Websocket-Extensions"},
	25: {"Strict-Transport-Security", "Upgrade-Insecure-Requests"},
	27: {"Access-Control-Allow-Origin"},
	29: {"Access-Control-Request-Method"},
	30: {"Access-Control-Request-Headers"},
}

// statusText is never written.
var statusText = [...]string{
	100: "Continue",
	101: "Switching Protocols",
	102: "Processing",
	103: "Early Hints",
	200: "OK",
	201: "Created",
	202: "Accepted",
	203: "Non-Authoritative Information",
	204: "No Content",
	205: "Reset Content",
	206: "Partial Content",
	207: "Multi-Status",
	208: "Already Reported",
	226: "IM Used",
	300: "Multiple Choices",
	301: "Moved Permanently",
	302: "Found",
	303: "See Other",
	304: "Not Modified",
	305: "Use Proxy",
	307: "Temporary Redirect",
	308: "Permanent Redirect",
	400: "Bad Request",
	401: "Unauthorized",
	402: "Payment Required",
	403: "Forbidden",
	404: "Not Found",
	405: "Method Not Allowed",
	406: "Not Acceptable",
	407: "Proxy Authentication Required",
	408: "Request Timeout",
	409: "Conflict",
	410: "Gone",
	411: "Length Required",
	412: "Precondition Failed",
	413: "Content Too Large",
	414: "URI Too Long",
	415: "Unsupported Media Type",
	416: "Range Not Satisfiable",
	417: "Expectation Failed",
	418: "I'm a teapot",
	421: "Misdirected Request",
	422: "Unprocessable Content",
	423: "Locked",
	424: "Failed Dependency",
	425: "Too Early",
	426: "Upgrade Required",
	428: "Precondition Required",
	429: "Too Many Requests",
	431: "Request Header Fields Too Large",
	451: "Unavailable For Legal Reasons",
	500: "Internal Server Error",
	501: "Not Implemented",
	502: "Bad Gateway",
	503: "Service Unavailable",
	504: "Gateway Timeout",
	505: "HTTP Version Not Supported",
	506: "Variant Also Negotiates",
	507: "Insufficient Storage",
	508: "Loop Detected",
	510: "Not Extended",
	511: "Network Authentication Required",
}
