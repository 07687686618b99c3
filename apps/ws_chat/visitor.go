// SPDX-License-Identifier: MIT

package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"time"
	"unicode/utf8"

	"m0serve.dev/http/ws"
)

// A request is what a client sends.
type request struct {
	T     string `json:"t"` // enter, say, typing or still
	Room  string `json:"room"`
	Name  string `json:"name"`
	Key   string `json:"key"`
	Since int64  `json:"since"`
	Text  string `json:"text"`
	Ref   string `json:"ref"`
}

// What a client is sent; T is the field "t".
type (
	welcome struct {
		T        string    `json:"t"` // welcome
		Who      string    `json:"who"`
		Name     string    `json:"name"`
		Room     string    `json:"room"`
		Worker   int       `json:"worker"`
		Gap      bool      `json:"gap"`
		Messages []message `json:"messages"`
		people
	}
	said struct {
		T string `json:"t"` // message
		message
	}
	present struct {
		T string `json:"t"` // here
		people
	}
	writes struct {
		T string `json:"t"` // typing
		person
	}
	refusal struct {
		T    string `json:"t"`   // refused
		Why  string `json:"why"` // for programs
		Text string `json:"text"`
		Ref  string `json:"ref,omitempty"`  // of the message that was refused
		Wait int64  `json:"wait,omitempty"` // ms, until another is taken
	}
)

// A visitor is one socket. Its messages come one at a time, and own its fields.
type visitor struct {
	app    *app
	conn   *ws.Conn
	door   *time.Timer // closes the socket of somebody who does not enter
	person person
	room   string // "" until he has entered
	socket int64  // in the store

	talk, typing bucket
	refusals     int // in a row
}

func (v *visitor) open(c *ws.Conn) {
	v.conn = c
	v.door = time.AfterFunc(enterWait, func() {
		_ = c.Close(ws.CodePolicy, "nobody has entered") // it may be closed already
	})
}

func (v *visitor) message(_ *ws.Conn, op ws.Op, data []byte) {
	var r request
	if op != ws.OpText || json.Unmarshal(data, &r) != nil {
		_ = v.conn.Close(ws.CodeUnsupported, "a message is an object of JSON")
		return
	}
	switch {
	case r.T == "still":
		v.send(struct {
			T string `json:"t"`
		}{"still"})
	case r.T == "enter" && v.room == "":
		v.enter(&r)
	case v.room == "" || r.T == "enter":
		_ = v.conn.Close(ws.CodePolicy, "enter comes first, and once")
	case r.T == "say":
		v.say(&r)
	case r.T == "typing":
		v.types()
	default:
		_ = v.conn.Close(ws.CodePolicy, "unknown message")
	}
}

// closed is called once, behind the last message.
func (v *visitor) closed(*ws.Conn, ws.Code, string) {
	v.door.Stop()
	if v.room == "" {
		return
	}
	if err := v.app.store.leave(v.socket); err != nil {
		v.app.context.Log.Warn("ws_chat: somebody left and is still shown", "err", err)
	}
	v.app.leave(v.room)
}

func (v *visitor) enter(r *request) {
	p := person{Who: publicKey(r.Key), Name: cleanName(r.Name)}
	switch {
	case p.Name == "":
		v.refuse(refusal{Why: "name", Text: fmt.Sprintf("A name has 1 to %d characters.", nameMax)})
		return
	case !isRoom(r.Room):
		v.refuse(refusal{Why: "room", Text: fmt.Sprintf(
			"The name of a room has 1 to %d letters a to z, digits and hyphens.", nameMax)})
		return
	case len(r.Key) < keyLeast || len(r.Key) > keyMax:
		v.refuse(refusal{Why: "key", Text: fmt.Sprintf("A key has %d to %d bytes.", keyLeast, keyMax)})
		return
	}
	v.door.Stop()
	var err error
	v.socket, err = v.app.store.enter(r.Room, p, r.Since, func(now room) error {
		v.send(welcome{
			T: "welcome", Who: p.Who, Name: p.Name, Room: r.Room, Worker: v.app.context.Index,
			Gap: now.Gap, Messages: now.Messages, people: now.people,
		})
		return v.app.context.Sockets.Join(v.conn, channelOf(r.Room))
	})
	if err != nil {
		v.app.context.Log.Warn("ws_chat: nobody can enter", "err", err)
		_ = v.conn.Close(ws.CodeInternal, "") // a page tries again
		return
	}
	v.room, v.person = r.Room, p
	v.app.come(v.room)
}

// publicKey names whoever has that key, so that others cannot speak for him.
func publicKey(key string) string {
	sum := sha256.Sum256([]byte("ws_chat " + key))
	return hex.EncodeToString(sum[:8])
}

func (v *visitor) say(r *request) {
	if wait := v.talk.take(time.Now(), talkBurst, talkEvery); wait > 0 {
		v.app.count(countFast)
		v.refuse(refusal{
			Why: "fast", Ref: r.Ref, Wait: wait.Milliseconds() + 1,
			Text: "That was too fast. Wait a moment.",
		})
		return
	}
	m := message{Who: v.person.Who, Name: v.person.Name, Text: cleanText(r.Text), Ref: r.Ref}
	switch {
	case len(r.Ref) < 1 || len(r.Ref) > refMax:
		_ = v.conn.Close(ws.CodePolicy, "a ref has 1 to 40 bytes")
		return
	case m.Text == "":
		v.refuse(refusal{Why: "empty", Ref: r.Ref, Text: "There is nothing in it."})
		return
	case utf8.RuneCountInString(m.Text) > textMax:
		v.app.count(countLong)
		v.refuse(refusal{Why: "long", Ref: r.Ref,
			Text: fmt.Sprintf("That is too long: at most %d characters.", textMax)})
		return
	}
	again, err := v.app.store.say(v.room, &m, func() error {
		return v.app.publish(v.room, said{"message", m})
	})
	switch {
	case err != nil:
		v.app.context.Log.Warn("ws_chat: a message was not kept", "err", err)
		v.refuse(refusal{Why: "failed", Ref: r.Ref, Text: "It could not be kept. Try again."})
		return
	case again:
		v.app.count(countAgain)
		v.send(said{"message", m})
	}
	v.refusals = 0
}

// types tells the room that somebody is typing, not more often than is of use.
func (v *visitor) types() {
	if v.typing.take(time.Now(), typingBurst, typingEvery) > 0 {
		v.app.count(countTyping)
		return
	}
	if err := v.app.publish(v.room, writes{"typing", v.person}); err != nil {
		v.app.context.Log.Warn("ws_chat: not everybody sees who types", "err", err)
	}
}

// refuse says what was wrong, and closes on somebody who does not listen.
func (v *visitor) refuse(r refusal) {
	r.T = "refused"
	v.send(r)
	if v.refusals++; v.refusals >= refusalsMax {
		v.app.count(countCut)
		_ = v.conn.Close(ws.CodePolicy, "too much was refused")
	}
}

// send sends to this socket alone.
func (v *visitor) send(what any) {
	_ = v.conn.Send(ws.OpText, encode(what)) // one that is too slow is closed
}
