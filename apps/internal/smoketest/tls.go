// SPDX-License-Identifier: MIT

//go:build unix

package smoketest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// A Pair is a certificate for 127.0.0.1, made by its own key, in two files.
type Pair struct {
	Cert, Key string
	serial    *big.Int
	roots     *x509.CertPool
}

// NewPair writes a pair that is valid while the test runs.
func NewPair(t *testing.T, dir string) *Pair {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	serial, err := rand.Int(rand.Reader, big.NewInt(1<<62))
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	template := &x509.Certificate{
		SerialNumber: serial, NotBefore: now.Add(-time.Hour), NotAfter: now.Add(24 * time.Hour),
		DNSNames: []string{"localhost"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	p := &Pair{Cert: filepath.Join(dir, "cert.pem"), Key: filepath.Join(dir, "key.pem"),
		serial: serial, roots: x509.NewCertPool()}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	p.roots.AddCert(leaf)
	writePEM(t, p.Cert, "CERTIFICATE", der)
	writePEM(t, p.Key, "PRIVATE KEY", keyDER)
	return p
}

func writePEM(t *testing.T, path, kind string, der []byte) {
	t.Helper()
	text := pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
	if err := os.WriteFile(path+".new", text, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		t.Fatal(err)
	}
}

// Env names the files to a service.
func (p *Pair) Env() []string {
	return []string{"M0_TLS_CERT=" + p.Cert, "M0_TLS_KEY=" + p.Key}
}

// Client trusts the certificate and nobody else. It keeps its connections, unless it
// is of HTTP/1.1: then each request has one of its own.
func (p *Pair) Client(t *testing.T, http2 bool) *http.Client {
	t.Helper()
	transport := &http.Transport{
		TLSClientConfig: &tls.Config{RootCAs: p.roots}, ForceAttemptHTTP2: http2,
		DisableKeepAlives: !http2,
	}
	if !http2 { // an empty map is what turns it off
		transport.TLSNextProto = make(map[string]func(string, *tls.Conn) http.RoundTripper)
	}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

// Serves reports whether this very certificate is served at url.
func (p *Pair) Serves(address string) bool {
	conn, err := tls.Dial("tcp", address, &tls.Config{RootCAs: p.roots})
	if err != nil {
		return false
	}
	defer conn.Close()
	return conn.ConnectionState().PeerCertificates[0].SerialNumber.Cmp(p.serial) == 0
}
