// SPDX-License-Identifier: MIT

package publish

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"net/netip"
	"strings"

	"m0serve.dev/http/grip"
	"m0serve.dev/http/loop"
)

var (
	errElsewhere = errors.New("publish: only this machine may publish here, " +
		"until a key is set for the others")
	errBasic = errors.New("publish: Authorization: Basic wants NAME:KEY in base64")
	errKey   = errors.New("publish: Authorization: this is not the key")
)

// believe says why a request is not to be believed, and with what to answer it.
func (d *HTTPDoor) believe(x *loop.Exchange) (reply, error) {
	if d.cfg.Local.IsValid() && !isLocal(x.Peer(), d.cfg.Local) {
		return reply{status: 403, text: reason(errElsewhere)}, errElsewhere
	}
	field, _ := x.Request().Field("authorization")
	if err := d.authorize(string(field)); err != nil {
		return reply{status: 401, text: reason(err),
			name: "WWW-Authenticate", value: `Bearer realm="publish", Basic realm="publish"`}, err
	}
	return reply{}, nil
}

// isLocal reports whether a peer is on the machine that has the address own; one
// without an address has a unix socket.
func isLocal(peer netip.AddrPort, own netip.Addr) bool {
	addr := peer.Addr().Unmap()
	return !peer.IsValid() || addr.IsLoopback() || addr == own.Unmap()
}

// authorize checks an Authorization field: a token, or the key itself.
func (d *HTTPDoor) authorize(field string) error {
	scheme, value, _ := strings.Cut(field, " ")
	value = strings.Trim(value, " \t")
	switch {
	case strings.EqualFold(scheme, "Bearer") && value != "":
		return d.checkToken(value)
	case strings.EqualFold(scheme, "Basic") && value != "":
		return d.checkBasic(value)
	}
	return fmt.Errorf("publish: Authorization is missing: want Bearer with a token (JWT, HS256) "+
		"of iss %q, or Basic %s:KEY", d.issuer(), d.issuer())
}

// issuer is what messages call publishers.
func (d *HTTPDoor) issuer() string {
	if d.cfg.Issuer == "" {
		return "ANY"
	}
	return d.cfg.Issuer
}

func (d *HTTPDoor) checkToken(token string) error {
	if d.isKey(token) {
		return nil
	}
	claims, err := grip.Verify(token, d.cfg.Key, d.now())
	if err != nil {
		return fmt.Errorf("publish: Authorization: %w", err)
	}
	return d.checkIssuer(claims.Issuer)
}

func (d *HTTPDoor) checkIssuer(name string) error {
	if d.cfg.Issuer != "" && name != d.cfg.Issuer {
		return fmt.Errorf("publish: Authorization: it is of %.40q, want %q", name, d.cfg.Issuer)
	}
	return nil
}

// checkBasic checks a name with the key. pubcontrol for Python 3 sends the base64 as
// Python prints bytes, b'...'.
func (d *HTTPDoor) checkBasic(coded string) error {
	if inner, ok := strings.CutPrefix(coded, "b'"); ok {
		coded = strings.TrimSuffix(inner, "'")
	}
	text, err := base64.StdEncoding.DecodeString(coded)
	name, key, found := strings.Cut(string(text), ":")
	switch {
	case err != nil || !found:
		return errBasic
	case !d.isKey(key):
		return errKey
	}
	return d.checkIssuer(name)
}

// isKey compares in a time that does not tell where the difference is. A key may be
// spelt in base64, as a GRIP_URL has it.
func (d *HTTPDoor) isKey(s string) bool {
	key, err := grip.ParseKey(s)
	if err != nil || len(d.cfg.Key) == 0 {
		return false
	}
	got, want := sha256.Sum256(key), sha256.Sum256(d.cfg.Key)
	return subtle.ConstantTimeCompare(got[:], want[:]) == 1
}
