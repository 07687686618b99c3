// SPDX-License-Identifier: MIT

//go:build unix

package host

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"log/slog"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// writePair writes a certificate for 127.0.0.1, made by its own key, into dir and
// returns the files.
func writePair(t *testing.T, dir, name string, from, until time.Time) (cert, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name},
		NotBefore: from, NotAfter: until, DNSNames: []string{name},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		IsCA:        true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	cert, key = filepath.Join(dir, name+".pem"), filepath.Join(dir, name+".key")
	writePEM(t, cert, "CERTIFICATE", der)
	writePEM(t, key, "PRIVATE KEY", keyDER)
	return cert, key
}

func writePEM(t *testing.T, path, kind string, der []byte) {
	t.Helper()
	text := pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
}

// validPair is writePair for the time of a test.
func validPair(t *testing.T, dir, name string) (cert, key string) {
	t.Helper()
	now := time.Now()
	return writePair(t, dir, name, now.Add(-time.Hour), now.Add(90*24*time.Hour))
}

func TestFilesThatAreNoPairAreRefusedWithACure(t *testing.T) {
	dir, now := t.TempDir(), time.Now()
	cert, key := validPair(t, dir, "good")
	_, otherKey := validPair(t, dir, "other")
	old, oldKey := writePair(t, dir, "old", now.Add(-48*time.Hour), now.Add(-24*time.Hour))
	early, earlyKey := writePair(t, dir, "early", now.Add(time.Hour), now.Add(24*time.Hour))
	locked := filepath.Join(dir, "locked.key")
	writePEM(t, locked, "ENCRYPTED PRIVATE KEY", []byte{1})
	gone := filepath.Join(dir, "gone.pem")
	yesterday := now.Add(-24 * time.Hour).UTC().Format(time.DateOnly)
	for _, c := range []struct{ cert, key, flag, want string }{
		{gone, key, "--tls-cert", "cannot be read (no such file or directory): name the PEM file"},
		{cert, gone, "--tls-key", "cannot be read (no such file or directory): name the PEM file"},
		{dir, key, "--tls-cert", "cannot be read (is a directory)"},
		{key, key, "--tls-cert", "holds no certificate"},
		{cert, cert, "--tls-key", "holds no private key"},
		{cert, otherKey, "--tls-key", "is not the key of " + cert},
		{cert, locked, "--tls-key", "is encrypted: decrypt it: openssl pkey -in " + locked},
		{old, oldKey, "--tls-cert", "has expired on " + yesterday + ": renew it"},
		{early, earlyKey, "--tls-cert", "is not valid before"},
		{cert, "", "--tls-cert", "its key is missing: name the file with --tls-key"},
		{"", key, "--tls-key", "its certificate is missing: name the file with --tls-cert"},
	} {
		app := App{Handler: hello, Args: []string{"--tls-cert=" + c.cert, "--tls-key=" + c.key}}
		_, err := read(&app, os.LookupEnv)
		var out strings.Builder
		code := explain(&out, err)
		named := c.cert
		if c.flag == "--tls-key" {
			named = c.key
		}
		want := "host: config: " + c.flag + " \"" + named + "\": " + c.want
		if code != 78 || !strings.Contains(out.String(), want) {
			t.Errorf("%s with %s: exit %d, printed %q; want 78, the file and %q",
				c.cert, c.key, code, &out, c.want)
		}
	}
}

func TestChangedCertificateIsTakenAndABadOneIsNot(t *testing.T) {
	dir := t.TempDir()
	cert, key := validPair(t, dir, "site")
	var log bytes.Buffer
	c, err := loadCertificate(cert, key, slog.New(slog.NewTextHandler(&log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	c.now = func() time.Time { return now }
	serial := func() string {
		pair, err := c.get(nil)
		if err != nil {
			t.Fatal(err)
		}
		return pair.Leaf.Subject.CommonName + pair.Leaf.NotAfter.Format(time.RFC3339Nano)
	}
	first := serial()
	newCert, newKey := writePair(t, t.TempDir(), "site", now.Add(-time.Hour), now.Add(time.Hour))
	rename(t, newCert, cert) // and its key comes later
	if got := serial(); got != first {
		t.Errorf("within a second = %s; want the first, %s", got, first)
	}
	for range 3 {
		now = now.Add(lookEvery)
		if got := serial(); got != first {
			t.Errorf("with half a pair = %s; want the first, %s", got, first)
		}
	}
	if n := strings.Count(log.String(), "level=ERROR"); n != 1 {
		t.Errorf("half a pair was logged %d times; want once:\n%s", n, &log)
	}
	rename(t, newKey, key)
	now = now.Add(lookEvery)
	if got := serial(); got == first {
		t.Error("with a whole new pair the first certificate is still served")
	}
	if err := os.Remove(cert); err != nil {
		t.Fatal(err)
	}
	second := serial()
	now = now.Add(lookEvery)
	if got := serial(); got != second {
		t.Errorf("without a file = %s; want what was read, %s", got, second)
	}
}

func rename(t *testing.T, from, to string) {
	t.Helper()
	if err := os.Rename(from, to); err != nil {
		t.Fatal(err)
	}
}
