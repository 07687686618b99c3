// SPDX-License-Identifier: MIT

package grip

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"testing"
)

func TestObject(t *testing.T) {
	const doc = ` { "a" : "1" , "b\"\\":{"x":[1,"]}",{}]}, "c":[ 1.5e3 ,"\\\"",[ ],null ],` +
		`"a":"2","n":null,"\u0064":true } `
	d := decoder{}
	o := d.document([]byte(doc))
	list := o.list("c")
	if d.err != nil || o.text("a") != "2" || o.has("n") || o.has("e") || !o.flag("d") ||
		string(o.get(`b"\`)) != `{"x":[1,"]}",{}]}` || len(list) != 4 || string(list[1]) != `"\\\""` {
		t.Errorf("document(%s): a %q, n %q, d %q, list %q, %v",
			doc, o.get("a"), o.get("n"), o.get("d"), list, d.err)
	}
}

// Everything is read as encoding/json reads it.
func FuzzDocument(f *testing.F) {
	f.Add([]byte(`{"a":"\u00e4\ud83d\ude00\ud83d\n","b":[1,[2,{"c":3}],"\\"],"":{}}`))
	f.Add([]byte("{\"\xff\":\"\xffa\xc3\",\"\\\\\\\"\":\"\\\\\\\\\\\"\"}"))
	f.Add([]byte(`{"a":"\ud83dx\udc00\ud83d\ud83d\ude00"}`))
	f.Add([]byte(` [ ] `))
	f.Fuzz(func(t *testing.T, doc []byte) {
		var want map[string]json.RawMessage
		isObject := json.Unmarshal(doc, &want) == nil && want != nil
		d := decoder{}
		o := d.document(doc)
		if isObject != (d.err == nil) {
			t.Fatalf("document(%q) = %v, encoding/json reads %v", doc, d.err, want)
		}
		got := map[string]json.RawMessage{}
		for _, m := range o.members {
			got[string(m.name)] = m.value
		}
		if isObject && !maps.EqualFunc(got, want, slices.Equal[json.RawMessage]) {
			t.Fatalf("document(%q) = %q, want %q", doc, got, want)
		}
		for name, raw := range got {
			var text string
			if raw[0] == '"' && json.Unmarshal(raw, &text) == nil && o.text(name) != text {
				t.Fatalf("text of %q = %q, want %q", raw, o.text(name), text)
			}
			var list []json.RawMessage
			if raw[0] != '[' || json.Unmarshal(raw, &list) != nil {
				continue
			}
			split := o.list(name)
			if len(split) != len(list) || len(list) > 0 && !reflect.DeepEqual(split[0], []byte(list[0])) {
				t.Fatalf("list of %q = %q, want %q", raw, split, list)
			}
		}
	})
}
