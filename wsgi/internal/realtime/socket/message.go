// SPDX-License-Identifier: MIT

package socket

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"m0serve.dev/http/grip"
	"m0serve.dev/http/loop"
	"m0serve.dev/http/wire"
	"m0serve.dev/http/ws"
)

// messages is the talk in our own words: every message of the client is a request of
// its own to MessagePath. The socket's mu guards channels.
type messages struct {
	name     string // M0-Slot
	tells    bool   // the application wants to know of the end
	channels []string
}

func (m *messages) closedLocked() bool { return m.tells }

func (m *messages) requestLocked(k *socket) []byte {
	n, ok := k.popLocked()
	if !ok {
		return nil
	}
	raw := make([]byte, 0, 512+len(k.opening.fields)+len(n.data))
	raw = k.opening.appendHead(raw, k.s.cfg.Root+MessagePath)
	raw = appendLine(raw, "M0-Channel", strings.Join(m.channels, ", "))
	raw = appendLine(raw, "M0-Slot", m.name)
	switch n.op {
	case ws.OpText:
		raw = appendLine(raw, "M0-Opcode", "text")
		raw = appendLine(raw, "Content-Type", "text/plain; charset=utf-8")
	case ws.OpBinary:
		raw = appendLine(raw, "M0-Opcode", "binary")
		raw = appendLine(raw, "Content-Type", "application/octet-stream")
	default:
		raw = appendLine(raw, "M0-Opcode", "close")
		raw = appendLine(raw, "M0-Code", n.code.String())
	}
	return appendBody(raw, n.data)
}

// appendLine appends a field whose value is known to be valid.
func appendLine(dst []byte, name, value string) []byte {
	if line, err := wire.AppendField(dst, name, value); err == nil {
		return line
	}
	return dst
}

// appendBody ends the head of a request and appends its body.
func appendBody(dst, body []byte) []byte {
	dst = appendLine(dst, "Content-Length", strconv.Itoa(len(body)))
	dst = append(dst, wire.LineEnd...)
	return append(dst, body...)
}

// answered takes the application's answer to a message.
func (m *messages) answered(k *socket, x *loop.Exchange) {
	if code, reason := codeOf(x.Status()); code != 0 {
		k.end(code, reason)
		return
	}
	if err := m.obey(k, x); err != nil {
		k.invalid(err)
	}
}

// obey does what a good answer says: first the channels, then the reply, then the end.
func (m *messages) obey(k *socket, x *loop.Exchange) error {
	said := func(lower string) (string, bool) {
		value, found := x.AnswerField(lower)
		return string(value), found
	}
	if list, found := said("m0-channel"); found {
		if err := m.subscribe(k, splitChannels(list)); err != nil {
			return fmt.Errorf("M0-Channel: %w", err)
		}
	}
	binary, err := opcodeOf(said("m0-opcode"))
	if err != nil {
		return err
	}
	k.reply(binary, x.AnswerBody())
	if text, found := said("m0-close"); found {
		code, reason, err := parseClose(text)
		if err != nil {
			return err
		}
		k.end(code, reason)
	}
	return nil
}

// subscribe makes names the channels of the socket.
func (m *messages) subscribe(k *socket, names []string) error {
	if len(names) > grip.MaxChannels {
		return fmt.Errorf("%d channels, at most %d", len(names), grip.MaxChannels)
	}
	k.mu.Lock()
	old := m.channels
	m.channels = names
	k.mu.Unlock()
	for _, name := range names {
		if err := k.s.cfg.Hub.Subscribe(k.slot, name); err != nil {
			return err
		}
	}
	for _, name := range old {
		if !slices.Contains(names, name) {
			k.s.cfg.Hub.Unsubscribe(k.slot, name)
		}
	}
	return nil
}

// reply sends what an answer has said; nothing when that is empty.
func (k *socket) reply(binary bool, data []byte) {
	m := message{op: ws.OpText, data: data}
	if binary || !utf8.Valid(data) {
		m.op = ws.OpBinary
	}
	if len(data) > 0 {
		k.deliver(&m)
	}
}

// opcodeOf reads M0-Opcode of an answer.
func opcodeOf(value string, said bool) (binary bool, err error) {
	switch {
	case !said, value == "text":
		return false, nil
	case value == "binary":
		return true, nil
	}
	return false, fmt.Errorf("M0-Opcode: %q is neither \"text\" nor \"binary\"", value)
}

// parseClose reads M0-Close, "4001 go away".
func parseClose(text string) (code ws.Code, reason string, err error) {
	number, reason, _ := strings.Cut(strings.TrimSpace(text), " ")
	n, err := strconv.ParseUint(number, 10, 16)
	if err == nil {
		_, err = ws.AppendClose(nil, ws.Code(n), reason)
	}
	if err != nil {
		return 0, "", fmt.Errorf("M0-Close: %q is no code and reason: %w", text, err)
	}
	return ws.Code(n), reason, nil
}
