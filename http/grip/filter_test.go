// SPDX-License-Identifier: MIT

package grip

import (
	"bytes"
	"reflect"
	"strings"
	"testing"
)

func TestParseFilter(t *testing.T) {
	for f := SkipSelf; f <= VarSubst; f++ {
		if got, err := ParseFilter(f.String()); got != f || err != nil {
			t.Errorf("ParseFilter(%q) = %v, %v, want %v", f.String(), got, err, f)
		}
	}
	for _, name := range []string{"", "Skip-Self", "http-check", "skip-self "} {
		f, err := ParseFilter(name)
		const known = "skip-self, skip-users, require-sub, build-id, var-subst"
		if err == nil || !strings.Contains(err.Error(), known) {
			t.Errorf("ParseFilter(%q) = %v, %v, want an error that lists %s", name, f, err, known)
		}
	}
	names, want := Filters{BuildID, SkipSelf}.Names(), []string{"build-id", "skip-self"}
	if !reflect.DeepEqual(names, want) {
		t.Errorf("Names() = %q, want %q", names, want)
	}
}

func TestPass(t *testing.T) {
	to := &Subscriber{Meta: Meta{{"user", "u"}}, Channels: []Channel{{Name: "a"}}}
	nobody := &Subscriber{}
	for _, tc := range []struct {
		filters Filters
		item    Meta
		to      *Subscriber
		want    bool
	}{
		{Filters{SkipSelf}, Meta{{"sender", "u"}}, to, false},
		{Filters{SkipSelf}, Meta{{"sender", "v"}}, to, true},
		{Filters{SkipSelf}, nil, to, true},
		{Filters{SkipSelf}, Meta{{"sender", ""}}, nobody, true},
		{nil, Meta{{"sender", "u"}, {"skip_users", "u"}, {"require_sub", "b"}}, to, true},
		{Filters{SkipUsers}, Meta{{"skip_users", "v, u ,w"}}, to, false},
		{Filters{SkipUsers}, Meta{{"skip_users", "uu,v"}}, to, true},
		{Filters{SkipUsers}, Meta{{"skip_users", ""}}, to, true},
		{Filters{SkipUsers}, Meta{{"skip_users", ","}}, nobody, true},
		{Filters{RequireSub}, Meta{{"require_sub", "a"}}, to, true},
		{Filters{RequireSub}, Meta{{"require_sub", "b"}}, to, false},
		{Filters{RequireSub}, nil, to, true},
		{Filters{BuildID, SkipUsers, RequireSub}, Meta{{"require_sub", "b"}}, to, false},
	} {
		if got := tc.filters.Pass(tc.item, tc.to); got != tc.want {
			t.Errorf("%v.Pass(%v, %+v) = %v, want %v", tc.filters, tc.item, tc.to, got, tc.want)
		}
	}
}

func TestFits(t *testing.T) {
	for _, tc := range []struct {
		filters, made Filters
		want          bool
	}{
		{Filters{SkipSelf, BuildID}, nil, true},
		{Filters{SkipSelf, BuildID}, Filters{BuildID}, true},
		{Filters{SkipSelf, BuildID}, Filters{}, false},
		{Filters{SkipSelf}, Filters{}, true},
		{Filters{SkipSelf}, Filters{BuildID}, false},
		{Filters{BuildID, VarSubst}, Filters{BuildID}, false},
		{Filters{BuildID, VarSubst}, Filters{VarSubst, BuildID}, false},
		{Filters{BuildID, VarSubst}, Filters{BuildID, VarSubst}, true},
	} {
		if got := tc.filters.Fits(tc.made); got != tc.want {
			t.Errorf("%v.Fits(%#v) = %v, want %v", tc.filters, tc.made, got, tc.want)
		}
	}
}

// stream is a connection as eventstream has it.
func stream() *Subscriber {
	return &Subscriber{
		Meta:     Meta{{"id_format", "test:%(events-test)s,100%%"}, {"user", "u"}, {"n(m)", "v%"}},
		Channels: []Channel{{Name: "events-test", PrevID: "5"}, {Name: "user-u"}},
	}
}

func TestAppend(t *testing.T) {
	hexed := stream()
	hexed.Meta = hexed.Meta.With("id_encoding", "hex").With("id_format", "%(events-test)s")
	for _, tc := range []struct {
		filters       Filters
		to            *Subscriber
		content, want string
	}{
		{nil, stream(), "100% %I", "100% %I"},
		{Filters{SkipSelf}, stream(), "100% %I", "100% %I"},
		{Filters{BuildID}, stream(), "id: %I\ndata: 100%%\n\n", "id: test:5,100%\ndata: 100%\n\n"},
		{Filters{BuildID}, stream(), "%I%I", "test:5,100%test:5,100%"},
		{Filters{BuildID}, stream(), "%(a%I)I", "a%I"},
		{Filters{BuildID}, stream(), `%(a\)\\b)I%()I`, `a)\b`},
		{Filters{BuildID}, &Subscriber{}, "no %%, %(x)I", "no %, x"},
		{Filters{BuildID}, hexed, "%I %(5)I", "35 35"},
		{Filters{VarSubst}, stream(), `%(user)s %(n\(m\))s %%`, "u v% %"},
		{Filters{SkipSelf, BuildID, RequireSub, VarSubst}, stream(), "%(a)I %%(user)s", "a u"},
		{Filters{VarSubst, BuildID}, stream(), "%(user)s %%(a)I", "u a"},
		{Filters{BuildID}, stream(), "", ""},
	} {
		got, err := tc.filters.Append([]byte("head "), []byte(tc.content), tc.to)
		if err != nil || string(got) != "head "+tc.want {
			t.Errorf("%v.Append(%q) = %q, %v, want %q", tc.filters, tc.content, got, err, tc.want)
		}
	}
}

func TestAppendRefuses(t *testing.T) {
	meta := func(format, coding string) *Subscriber {
		to := stream()
		to.Meta = Meta{{"id_format", format}, {"id_encoding", coding}}
		return to
	}
	for _, tc := range []struct {
		filter        Filter
		to            *Subscriber
		content, want string
	}{
		{BuildID, stream(), "100%", `a "%" stands alone at the end`},
		{BuildID, stream(), "100% ", `build-id: %  is not %I or %(id)I`},
		{BuildID, stream(), "%(user)s", "%(user)s is not %I"},
		{BuildID, stream(), "%(a", `a "(" is not closed`},
		{BuildID, stream(), `%(a\`, `a "(" is not closed`},
		{BuildID, stream(), "%(a)", `a "%" stands alone`},
		{BuildID, &Subscriber{}, "%I", "no id_format"},
		{BuildID, meta("%(user-u)s", ""), "%I", "%(user-u)s in id_format is no channel with an id"},
		{BuildID, meta("%(other)s", ""), "%I", "%(other)s in id_format is no channel with an id"},
		{BuildID, meta("%I", ""), "%I", "%I in id_format is no channel"},
		{BuildID, meta("x", "base64"), "%I", `id_encoding is "base64", want hex`},
		{VarSubst, stream(), "%(name)s", "var-subst: %(name)s is no metadata"},
		{VarSubst, stream(), "%(user)d", "%(user)d is no metadata"},
		{VarSubst, stream(), "%s", "%s is no metadata"},
	} {
		got, err := Filters{tc.filter}.Append([]byte("head"), []byte("x"+tc.content), tc.to)
		if string(got) != "head" || err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%v.Append(%q) = %q, %v, want an error with %q",
				tc.filter, tc.content, got, err, tc.want)
		}
	}
}

func TestBodyFilters(t *testing.T) {
	in := &Instruct{Channels: []Channel{
		{Filters: Filters{SkipSelf, VarSubst}}, {Filters: Filters{BuildID}},
	}}
	if got := in.BodyFilters(); !reflect.DeepEqual(got, Filters{BuildID}) {
		t.Errorf("BodyFilters() = %v, want build-id", got)
	}
	if got := (&Instruct{Channels: in.Channels[:1]}).BodyFilters(); got != nil {
		t.Errorf("BodyFilters() without build-id = %v, want none", got)
	}
}

func TestMeta(t *testing.T) {
	m := Meta{{"a", "1"}, {"b", "2"}}
	more, less := m.With("a", "3").With("c", "4"), m.Without("a").Without("x")
	if want := (Meta{{"b", "2"}, {"a", "3"}, {"c", "4"}}); !reflect.DeepEqual(more, want) {
		t.Errorf("With = %v, want %v", more, want)
	}
	if want := (Meta{{"b", "2"}}); !reflect.DeepEqual(less, want) {
		t.Errorf("Without = %v, want %v", less, want)
	}
	if m.Get("a") != "1" || m.Get("c") != "" || len(m) != 2 {
		t.Errorf("m = %v, want it as it was", m)
	}
}

func TestAppendLast(t *testing.T) {
	for id, want := range map[string]string{
		"5": "a; last-id=5", "": "a; last-id=", `x;"\`: `a; last-id="x;\"\\"`, "b,c": `a; last-id="b,c"`,
	} {
		got := string(AppendLast(nil, Channel{Name: "a", PrevID: id}))
		e, _, _, err := cutElement(got, true)
		if got != want || err != nil || e.params[0].value != id {
			t.Errorf("AppendLast(%q) = %s, %v, want %s, which reads back", id, got, err, want)
		}
	}
}

func FuzzAppend(f *testing.F) {
	f.Add([]byte("id: %I\n100%% %(a)I"), "%(events-test)s", false)
	f.Add([]byte("%%(user)s %(a\\)"), "x%%", true)
	f.Fuzz(func(t *testing.T, content []byte, format string, both bool) {
		to, filters := stream(), Filters{BuildID}
		to.Meta = to.Meta.With("id_format", format)
		if both {
			filters = Filters{BuildID, VarSubst}
		}
		got, err := filters.Append([]byte("head"), content, to)
		if !bytes.HasPrefix(got, []byte("head")) || err != nil && len(got) != len("head") {
			t.Fatalf("Append(%q) = %q, %v", content, got, err)
		}
		escaped := bytes.ReplaceAll(content, []byte("%"), []byte("%%"))
		back, err := Filters{BuildID}.Append(nil, escaped, to)
		if err != nil || !bytes.Equal(back, content) {
			t.Fatalf("Append(%q) = %q, %v, want %q", escaped, back, err, content)
		}
	})
}
