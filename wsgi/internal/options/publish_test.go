// SPDX-License-Identifier: MIT

package options

import (
	"strings"
	"testing"
)

// TestKeyOfPublishers: what the operator sets for the application is what the door
// believes, and no secret is repeated.
func TestKeyOfPublishers(t *testing.T) {
	const door = "--realtime --publish-http=5561"
	for _, c := range []struct {
		name, flags, url, own string // own: M0_PUBLISH_KEY
		key, issuer, warning  string
	}{
		{"nothing", door, "", "", "", "", ""},
		{"own", door, "", "hunter2", "hunter2", "", ""},
		{"own in base64", door, "", "base64:aHVudGVyMg==", "hunter2", "", ""},
		{"the application's", door, "http://h:1/?iss=realm&key=base64:aHVudGVyMg", "",
			"hunter2", "realm", ""},
		{"own and the application's", door, "http://h:1/?iss=realm&key=x", "hunter2",
			"hunter2", "realm", ""},
		{"application without one", door, "http://h:5561", "", "", "", "$GRIP_URL has no key"},
		{"application without one, no door", "", "http://h:5561", "", "", "", ""},
		{"no URL", door, "hunter2", "", "", "", "$GRIP_URL is not one"},
	} {
		env := map[string]string{"GRIP_URL": c.url, "M0_PUBLISH_KEY": c.own}
		o := mustParse(t, env, append(strings.Fields(c.flags), "m:a")...)
		if string(o.PublishKey) != c.key || o.PublishIssuer != c.issuer {
			t.Errorf("%s: key %q of %q; want %q of %q", c.name, o.PublishKey, o.PublishIssuer,
				c.key, c.issuer)
		}
		warnings := strings.Join(o.Warnings, "\n")
		if c.warning == "" && warnings != "" || !strings.Contains(warnings, c.warning) ||
			strings.Contains(warnings, "hunter2") {
			t.Errorf("%s: warnings %q; want %q", c.name, warnings, c.warning)
		}
	}
}
