// SPDX-License-Identifier: MIT

package grip

// An Item is one thing that is published to a channel, in up to three formats;
// a connection takes the one that fits it. What is nil is not there.
type Item struct {
	Channel  string
	ID       string // "": none
	PrevID   string // id of the item that comes before this one; "": not said
	NoSeq    bool   // deliver it at once, whatever PrevID says
	Meta     Meta
	Stream   *Stream   // http-stream
	Response *Response // http-response
	Message  *Message  // ws-message
}

// closes reports whether the item ends connections.
func (it *Item) closes() bool {
	return it.Stream != nil && it.Stream.Action == Close ||
		it.Message != nil && it.Message.Action == Close
}

// An Action is what an item wants done with a connection.
type Action uint8

// The actions.
const (
	Send    Action = iota // send the content
	Hint                  // ask the application for what is new, now
	Close                 // end the stream, close the socket
	Refresh               // make a request for the WebSocket, even an empty one
)

var actionNames = [...]string{Send: "send", Hint: "hint", Close: "close", Refresh: "refresh"}

func (a Action) String() string {
	if int(a) < len(actionNames) {
		return actionNames[a]
	}
	return "unknown"
}

// A Stream is the format http-stream.
type Stream struct {
	Action  Action
	Content []byte
	Filters Filters // content filters that the content is made for; nil: not said
}

// A Response is the format http-response, and the response of an instruct.
type Response struct {
	Action  Action // not Close
	Code    int    // 200 to 999, when Action is Send
	Reason  string // "": the usual one
	Fields  []Pair // valid as header fields
	Body    []byte
	Filters Filters // as in Stream
}

// A MessageType is the kind of a WebSocket message.
type MessageType uint8

// The kinds of messages.
const (
	Text MessageType = iota
	Binary
	Ping
	Pong
)

var messageTypeNames = [...]string{Text: "text", Binary: "binary", Ping: "ping", Pong: "pong"}

func (t MessageType) String() string {
	if int(t) < len(messageTypeNames) {
		return messageTypeNames[t]
	}
	return "unknown"
}

// A Message is the format ws-message.
type Message struct {
	Action  Action
	Type    MessageType
	Content []byte
	Code    int     // of Close; 0: 1000
	Reason  string  // of Close
	Filters Filters // as in Stream
}
