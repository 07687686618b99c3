// SPDX-License-Identifier: MIT

package wire

// An Error says why a message was refused. It is one byte, comparable, and
// never quotes what the peer sent. After an Error the framing of the connection
// is lost: answer with Status, where an answer is possible, and close.
type Error uint8

// The errors of parsers, Decoder and encoder.
const (
	ok Error = iota

	ErrRequestLine      // not METHOD SP target SP version
	ErrMethod           // the method is not a token
	ErrTarget           // the target is in no form a server takes
	ErrVersionSyntax    // not HTTP/d.d
	ErrVersion          // a major version other than 1
	ErrConnect          // CONNECT: this is no proxy
	ErrLineTooLong      // first line above Limits.LineBytes
	ErrStatusLine       // not HTTP/1.x SP code [SP reason]
	ErrFieldName        // empty, not a token, or not followed by its colon
	ErrFieldValue       // a control byte in a value
	ErrFold             // a line that opens with a space: folding is obsolete
	ErrLineEnd          // CR or LF alone
	ErrFieldTooLong     // field line above Limits.LineBytes
	ErrHeadTooLarge     // head above Limits.HeadBytes
	ErrTooManyFields    // more than Limits.Fields
	ErrHost             // Host missing, repeated or not a host
	ErrDuplicate        // a repeated field that may stand once
	ErrContentLength    // repeated, or not digits
	ErrLengthTooLarge   // digits, but more than 63 bits
	ErrTransferEncoding // not exactly one final "chunked", or on HTTP/1.0
	ErrCoding           // a transfer coding other than chunked
	ErrFraming          // Content-Length beside Transfer-Encoding
	ErrExpectation      // an expectation other than 100-continue
	ErrChunkSize        // not hex digits, or more than 16 of them
	ErrChunkExt         // a control byte in a chunk extension
	ErrChunkExtTooLarge // extensions above Limits.ChunkExtBytes
	ErrChunkEnd         // chunk data not followed by CRLF
	ErrBodyTooLarge     // body above Decoder's limit
	ErrTrailer          // a trailer that would change framing or routing
	ErrTrailerTooLarge  // trailers above Limits.TrailerBytes
	ErrTruncated        // the connection ended inside the message

	errMore // internal: the line goes on behind the buffer
)

// errorInfo is the status to answer with and the text, by Error.
var errorInfo = [...]struct {
	status int
	text   string
}{
	ErrRequestLine:      {400, "malformed request line"},
	ErrMethod:           {400, "invalid method"},
	ErrTarget:           {400, "invalid request target"},
	ErrVersionSyntax:    {400, "malformed protocol version"},
	ErrVersion:          {505, "unsupported protocol version"},
	ErrConnect:          {501, "CONNECT is not supported"},
	ErrLineTooLong:      {414, "request or status line too long"},
	ErrStatusLine:       {502, "malformed status line"},
	ErrFieldName:        {400, "invalid field name"},
	ErrFieldValue:       {400, "invalid byte in a field value"},
	ErrFold:             {400, "folded field line"},
	ErrLineEnd:          {400, "line not ended by CRLF"},
	ErrFieldTooLong:     {431, "field line too long"},
	ErrHeadTooLarge:     {431, "header section too large"},
	ErrTooManyFields:    {431, "too many fields"},
	ErrHost:             {400, "missing, repeated or invalid Host"},
	ErrDuplicate:        {400, "repeated field that may occur once"},
	ErrContentLength:    {400, "repeated or invalid Content-Length"},
	ErrLengthTooLarge:   {413, "Content-Length out of range"},
	ErrTransferEncoding: {400, "invalid Transfer-Encoding"},
	ErrCoding:           {501, "unsupported transfer coding"},
	ErrFraming:          {400, "both Content-Length and Transfer-Encoding"},
	ErrExpectation:      {417, "unknown expectation"},
	ErrChunkSize:        {400, "invalid chunk size"},
	ErrChunkExt:         {400, "invalid chunk extension"},
	ErrChunkExtTooLarge: {413, "chunk extensions too large"},
	ErrChunkEnd:         {400, "chunk data not ended by CRLF"},
	ErrBodyTooLarge:     {413, "body too large"},
	ErrTrailer:          {400, "forbidden trailer field"},
	ErrTrailerTooLarge:  {431, "trailer section too large"},
	ErrTruncated:        {400, "connection ended inside the message"},
}

// Error is "wire: " and Text.
func (e Error) Error() string { return "wire: " + e.Text() }

// Text is the reason in a few words, fit to be shown to the peer.
func (e Error) Text() string {
	if int(e) < len(errorInfo) && e != ok {
		return errorInfo[e].text
	}
	return "unknown error"
}

// Status is the status code a server answers the refused request with.
func (e Error) Status() int {
	if int(e) < len(errorInfo) && e != ok {
		return errorInfo[e].status
	}
	return 400
}
