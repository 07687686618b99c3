// SPDX-License-Identifier: MIT

package sqlite

import (
	"errors"
	"math"
	"reflect"
	"testing"
	"time"
)

// point reads itself from text.
type point struct{ x, y byte }

func (p *point) ScanColumn(s *Stmt, i int) error {
	text := s.Text(i)
	if len(text) != 2 {
		return errors.New("a point has two letters")
	}
	p.x, p.y = text[0], text[1]
	return nil
}

type stamps struct {
	Created UnixMilli
	Changed *RFC3339
}

type wide struct {
	stamps
	*hidden
	UserID   userID
	Nick     *label
	Data     raw
	Size     uint16 `sqlite:"bytes"`
	At       point
	Whatever any
	skipped  int
	Not      int `sqlite:"-"`
}

type hidden struct{ Secret int }

func TestScanStruct(t *testing.T) {
	c := open(t, memoryPath, Options{})
	got := mustOne[wide](t, c, `SELECT 7 AS user_id, 'nick' AS NICK, x'01' AS data, 65535 AS bytes,
		'ab' AS at, 1.5 AS whatever, 1000 AS created, '2026-11-29T00:00:00+01:00' AS changed`)
	want := wide{
		stamps: stamps{
			Created: UnixMilli{time.Unix(1, 0).UTC()},
			Changed: &RFC3339{time.Date(2026, 11, 28, 23, 0, 0, 0, time.UTC)},
		},
		UserID: 7, Nick: ptr(label("nick")), Data: raw{1}, Size: 65535,
		At: point{'a', 'b'}, Whatever: 1.5,
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("One[wide] = %+v, want %+v", got, want)
	}
	got = mustOne[wide](t, c, "SELECT NULL AS nick, NULL AS data, NULL AS changed, NULL AS whatever")
	if !reflect.DeepEqual(got, wide{}) {
		t.Errorf("One[wide] of NULLs = %+v, want the zero value", got)
	}
	_ = want.skipped
}

func TestScanRefuses(t *testing.T) {
	c := open(t, memoryPath, Options{})
	type two struct{ A, B int8 }
	check := func(call string, err error, limit bool, parts ...string) {
		t.Helper()
		wantText(t, call, err, append(parts, "sqlite: scan")...)
		if errors.Is(err, ErrRange) != limit {
			t.Errorf("%s: errors.Is(%v, ErrRange) = %v, want %v", call, err, !limit, limit)
		}
	}
	_, err := One[int64](t.Context(), c, "SELECT 'x' AS v")
	check("text as int64", err, false, `column 0 "v": TEXT into int64`)
	_, err = One[string](t.Context(), c, "SELECT NULL AS v")
	check("NULL as string", err, false, "use *string")
	_, err = One[string](t.Context(), c, "SELECT x'00'")
	check("blob as string", err, false, "BLOB into string")
	_, err = One[[]byte](t.Context(), c, "SELECT 1")
	check("int as bytes", err, false, "INTEGER into []byte")
	_, err = One[bool](t.Context(), c, "SELECT 7")
	check("7 as bool", err, true, "7 as bool")
	_, err = One[level](t.Context(), c, "SELECT 256")
	check("256 as uint8", err, true, "256 as sqlite.level")
	_, err = One[uint64](t.Context(), c, "SELECT -1")
	check("-1 as uint64", err, true, "-1 as uint64")
	_, err = One[float32](t.Context(), c, "SELECT 1e300")
	check("1e300 as float32", err, true, "1e+300 as float32")
	_, err = One[two](t.Context(), c, "SELECT 1 AS a, 128 AS b")
	check("128 as int8", err, true, `column 1 "b": 128 as int8`)
	_, err = One[two](t.Context(), c, "SELECT 1 AS a, 2 AS c")
	check("no field", err, false, `no field of sqlite.two for column 1 "c"`)
	_, err = One[two](t.Context(), c, "SELECT 1 AS a, 2 AS A")
	check("one field twice", err, false, `"a" and "A" both go to one field`)
	_, err = One[int](t.Context(), c, "SELECT 1 AS a, 2 AS b")
	check("two columns", err, false, "2 columns (a, b) into one int")
	_, err = One[wide](t.Context(), c, "SELECT 1 AS secret")
	check("through a pointer", err, false, `no field of sqlite.wide for column 0 "secret"`)
	_, err = One[wide](t.Context(), c, "SELECT 1 AS skipped")
	check("not exported", err, false, `for column 0 "skipped"`)
	_, err = One[wide](t.Context(), c, `SELECT 1 AS "not"`)
	check("excluded", err, false, `for column 0 "not"`)
	_, err = One[chan int](t.Context(), c, "SELECT 1")
	check("a channel", err, false, "INTEGER into chan int")
	_, err = One[RFC3339](t.Context(), c, "SELECT '2026-11-29 10:00'")
	check("other time", err, false, "cannot parse")
	_, err = One[UnixMilli](t.Context(), c, "SELECT 'now'")
	check("text as milliseconds", err, false, "TEXT into UnixMilli")
}

func TestScanBasics(t *testing.T) {
	c := open(t, memoryPath, Options{})
	if v := mustOne[float64](t, c, "SELECT 3"); v != 3 {
		t.Errorf("One[float64] of 3 = %v", v)
	}
	if v := mustOne[*int64](t, c, "SELECT NULL"); v != nil {
		t.Errorf("One[*int64] of NULL = %v, want nil", *v)
	}
	if v := mustOne[**int64](t, c, "SELECT 4"); **v != 4 {
		t.Errorf("One[**int64] = %v, want 4", **v)
	}
	if v := mustOne[bool](t, c, "SELECT 1"); !v {
		t.Error("One[bool] of 1 = false")
	}
	if v := mustOne[[]byte](t, c, "SELECT x''"); v == nil || len(v) != 0 {
		t.Errorf("One[[]byte] of an empty blob = %#v, want empty and not nil", v)
	}
	if v := mustOne[uint64](t, c, "SELECT 9223372036854775807"); v != math.MaxInt64 {
		t.Errorf("One[uint64] = %v", v)
	}
	if _, err := One[int](t.Context(), c, "SELECT 1 WHERE 0"); !errors.Is(err, ErrNoRows) {
		t.Errorf("One without rows: %v, want ErrNoRows", err)
	}
}

func TestQuery(t *testing.T) {
	c := open(t, memoryPath, Options{})
	const sql = "SELECT value FROM json_each('[10,20,30]')"
	var got []int
	for v, err := range Query[int](t.Context(), c, sql) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, v)
		if v == 20 {
			break
		}
	}
	if !reflect.DeepEqual(got, []int{10, 20}) {
		t.Errorf("until 20: %v", got)
	}
	all, err := All[*int](t.Context(), c, sql)
	if err != nil || len(all) != 3 || *all[0] != 10 || *all[2] != 30 {
		t.Errorf("All = %v, %v: rows share memory or are missing", all, err)
	}
	rows := 0
	for _, err = range Query[int](t.Context(), c, "SELECT value FROM json_each('[1,2,\"x\",4]')") {
		rows++
	}
	wantText(t, "Query", err, "TEXT into int")
	if rows != 3 {
		t.Errorf("%d turns, want two rows and the error, and then the end", rows)
	}
	func() {
		defer func() { _ = recover() }()
		for range Query[int](t.Context(), c, sql) {
			panic("in the loop")
		}
	}()
	if c.out != 0 {
		t.Errorf("%d statements lent after the loops ended, want 0", c.out)
	}
}

// TestQueryNested: the loop may use the connection it runs on, even with the same text.
func TestQueryNested(t *testing.T) {
	c := open(t, memoryPath, Options{})
	mustExec(t, c, "CREATE TABLE t(v INTEGER)")
	mustExec(t, c, "INSERT INTO t VALUES(1), (2), (3)")
	sum := 0
	for a, err := range Query[int](t.Context(), c, "SELECT v FROM t") {
		if err != nil {
			t.Fatal(err)
		}
		for b, err := range Query[int](t.Context(), c, "SELECT v FROM t") {
			if err != nil {
				t.Fatal(err)
			}
			sum += a * b
		}
	}
	if sum != 36 {
		t.Errorf("sum %d, want 36", sum)
	}
}
