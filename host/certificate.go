// SPDX-License-Identifier: MIT

package host

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"strings"
	"sync"
	"time"
)

// lookEvery is how often a handshake looks whether the files have changed.
const lookEvery = time.Second

// A certificate is a pair of files and what was last read from them. A handshake
// that finds them changed reads them again; a new pair that is no good is logged
// once, and the old one serves on.
type certificate struct {
	certFile, keyFile string
	now               func() time.Time
	log               *slog.Logger

	mu     sync.Mutex
	pair   *tls.Certificate // guarded by mu, as what follows
	seen   [2]fs.FileInfo   // of the files when they were read last
	looked time.Time
}

// A pairError says which of the two files is no good.
type pairError struct {
	key          bool
	reason, cure string
}

// Error implements error.
func (e *pairError) Error() string { return "host: certificate: " + e.text() }

func (e *pairError) text() string { return e.reason + ": " + e.cure }

// loadCertificate reads a pair that can be served. Its error is a *pairError.
func loadCertificate(certFile, keyFile string, log *slog.Logger) (*certificate, error) {
	c := &certificate{certFile: certFile, keyFile: keyFile, now: time.Now, log: log}
	c.seen, c.looked = c.stat(), c.now()
	var err error
	c.pair, err = c.read()
	return c, err
}

// read reads and checks the files.
func (c *certificate) read() (*tls.Certificate, error) {
	const howCert = "name the PEM file of the chain, the server's own certificate first"
	const howKey = "name the PEM file of its private key, unencrypted"
	chain, err := os.ReadFile(c.certFile)
	if err != nil {
		return nil, &pairError{false, "cannot be read (" + cause(err) + ")", howCert}
	}
	key, err := os.ReadFile(c.keyFile)
	if err != nil {
		return nil, &pairError{true, "cannot be read (" + cause(err) + ")", howKey}
	}
	leaf, err := firstCertificate(chain)
	if err != nil {
		return nil, &pairError{false, "holds no certificate (" + err.Error() + ")", howCert}
	}
	if bytes.Contains(key, []byte("ENCRYPTED")) {
		return nil, &pairError{true, "is encrypted",
			"decrypt it: openssl pkey -in " + c.keyFile + " -out FILE"}
	}
	pair, err := tls.X509KeyPair(chain, key)
	switch now := c.now(); {
	case err != nil && strings.Contains(err.Error(), "does not match"):
		return nil, &pairError{true, "is not the key of " + c.certFile,
			"name the one that its certificate was made with"}
	case err != nil:
		return nil, &pairError{true, "holds no private key (" + err.Error() + ")", howKey}
	case now.After(leaf.NotAfter):
		return nil, &pairError{false, "has expired on " + leaf.NotAfter.Format(time.DateOnly),
			"renew it"}
	case now.Before(leaf.NotBefore):
		return nil, &pairError{false, "is not valid before " +
			leaf.NotBefore.Format(time.RFC3339), "wait, or set the clock of this machine"}
	}
	pair.Leaf = leaf
	return &pair, nil
}

func firstCertificate(chain []byte) (*x509.Certificate, error) {
	for {
		block, rest := pem.Decode(chain)
		switch {
		case block == nil:
			return nil, errors.New("no block of PEM says CERTIFICATE")
		case block.Type == "CERTIFICATE":
			return x509.ParseCertificate(block.Bytes)
		}
		chain = rest
	}
}

// cause is what the system said, without the path.
func cause(err error) string {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err.Error()
	}
	return err.Error()
}

// config is what a server gets: TLS 1.2 at least, with the certificate of each
// moment.
func (c *certificate) config() *tls.Config {
	return &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: c.get}
}

// get is called for every handshake.
func (c *certificate) get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now := c.now(); now.Sub(c.looked) >= lookEvery {
		c.looked = now
		if seen := c.stat(); !sameFiles(seen, c.seen) {
			c.seen = seen
			c.againLocked()
		}
	}
	return c.pair, nil
}

// again reads the files at once, changed or not.
func (c *certificate) again() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.seen, c.looked = c.stat(), c.now()
	c.againLocked()
}

func (c *certificate) againLocked() {
	pair, err := c.read()
	if err != nil {
		file := c.certFile
		if bad := new(pairError); errors.As(err, &bad) && bad.key {
			file = c.keyFile
		}
		c.log.Error("host: the new certificate is no good, the old one serves on",
			"file", file, "err", err)
		return
	}
	c.pair = pair
	c.log.Info("host: certificate read", "file", c.certFile, "until", pair.Leaf.NotAfter)
}

// stat looks at the files before they are read, so that a change in between is
// seen the next time. One that is not there is nil.
func (c *certificate) stat() (seen [2]fs.FileInfo) {
	for i, name := range []string{c.certFile, c.keyFile} {
		if info, err := os.Stat(name); err == nil {
			seen[i] = info
		}
	}
	return seen
}

func sameFiles(a, b [2]fs.FileInfo) bool {
	for i := range a {
		switch {
		case a[i] == nil && b[i] == nil:
		case a[i] == nil || b[i] == nil || !os.SameFile(a[i], b[i]) ||
			a[i].Size() != b[i].Size() || !a[i].ModTime().Equal(b[i].ModTime()):
			return false
		}
	}
	return true
}
