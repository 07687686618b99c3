// SPDX-License-Identifier: MIT

package forwarded

import (
	"fmt"
	"net/netip"
	"strings"
)

// A trust is a set of peers. It is not changed once it is made.
type trust struct {
	nets []netip.Prefix
	any  bool // every peer; says nothing about the elements of a list
	unix bool // peers on a unix socket
}

// parseTrust reads addresses, networks, "*" and "unix", also several to an item
// with commas. A list that trusts loopback trusts unix sockets, too: both are
// peers on this machine.
func parseTrust(items []string) (t trust, err error) {
	for _, item := range items {
		for entry := range strings.SplitSeq(item, ",") {
			if entry = strings.TrimSpace(entry); entry != "" {
				err = t.add(entry)
			}
			if err != nil {
				return trust{}, err
			}
		}
	}
	for _, n := range t.nets {
		t.unix = t.unix || n.Addr().IsLoopback()
	}
	return t, nil
}

func (t *trust) add(entry string) error {
	switch entry {
	case "*":
		t.any = true
		return nil
	case "unix":
		t.unix = true
		return nil
	}
	if a, err := netip.ParseAddr(entry); err == nil {
		a = a.Unmap().WithZone("")
		t.nets = append(t.nets, netip.PrefixFrom(a, a.BitLen()))
		return nil
	}
	n, err := netip.ParsePrefix(entry)
	if err != nil {
		return fmt.Errorf("forwarded: trust %q: not an address, a network, * or unix", entry)
	}
	if n.Addr().Is4In6() {
		return fmt.Errorf("forwarded: trust %q: write it as an IPv4 network", entry)
	}
	t.nets = append(t.nets, n.Masked())
	return nil
}

// peer reports whether the other end of a connection is trusted. The peers of a
// unix socket have no address.
func (t *trust) peer(a netip.Addr) bool {
	if t.any {
		return true
	}
	if !a.IsValid() {
		return t.unix
	}
	return t.listed(a)
}

// listed reports whether a is an address or in a network of the list.
func (t *trust) listed(a netip.Addr) bool {
	a = a.Unmap().WithZone("")
	for _, n := range t.nets {
		if n.Contains(a) {
			return true
		}
	}
	return false
}
