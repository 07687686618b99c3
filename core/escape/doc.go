// SPDX-License-Identifier: MIT

// Package escape appends text to a buffer as a JSON string (RFC 8259,
// section 7), quotes included.
//
// AppendString and AppendBytes write plain JSON. AppendHTMLString and
// AppendHTMLBytes also escape < > & and U+2028/U+2029, so that the result can
// stand inside an HTML <script> element or a JavaScript literal; their output
// is byte for byte that of json.Marshal.
//
// Invalid UTF-8: each bad byte becomes the escape \ufffd, as encoding/json
// does it, so that the output is always valid UTF-8 and valid JSON. Who wants
// to refuse such text asks utf8.Valid first.
//
// The functions only append: nothing is allocated when dst has room for the
// result and 80 bytes more. The text must not overlap the free part of dst.
// There is no limit but memory; a string grows at most sixfold, plus quotes.
package escape
