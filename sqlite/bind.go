// SPDX-License-Identifier: MIT

package sqlite

import (
	"fmt"
	"math"
	"reflect"
	"time"

	"m0serve.dev/sqlite/internal/engine"
)

// Arg is a value for a named parameter, see Named.
type Arg struct {
	Name  string // without the prefix : @ or $
	Value any
}

// Named is an argument for the parameter :name, @name or $name. A call uses names for all
// arguments or for none.
func Named(name string, value any) Arg { return Arg{Name: name, Value: value} }

// Bind sets all parameters, in order or by name. It takes nil (NULL), integers, floats, bool (0 or
// 1), string, []byte (nil is NULL, empty is an empty blob), UnixMilli, RFC3339, types whose kind is
// one of these, and pointers to them (nil is NULL). The first error is kept for Step.
func (s *Stmt) Bind(args ...any) {
	if !s.ready() {
		return
	}
	if n := s.es.Params(); len(args) != n {
		s.err = fmt.Errorf("sqlite: bind: %d arguments for %d parameters of %q", len(args), n, s.sql)
		return
	}
	for i := range args {
		if arg, ok := args[i].(Arg); ok {
			s.bindNamed(args, i, arg)
		} else {
			s.bindAny(i+1, args[i])
		}
	}
}

// bindNamed binds args[i], which is named. All are named, each name is new.
func (s *Stmt) bindNamed(args []any, i int, arg Arg) {
	for k := range args {
		other, ok := args[k].(Arg)
		if !ok {
			s.keep(fmt.Errorf("sqlite: bind: named and unnamed arguments for %q", s.sql))
			return
		}
		if k < i && other.Name == arg.Name {
			s.keep(fmt.Errorf("sqlite: bind: %q is given twice for %q", arg.Name, s.sql))
			return
		}
	}
	for _, prefix := range [...]string{":", "@", "$"} {
		if at := s.es.ParamIndex(prefix + arg.Name); at > 0 {
			s.bindAny(at, arg.Value)
			return
		}
	}
	s.keep(fmt.Errorf("sqlite: bind: no parameter %q in %q", arg.Name, s.sql))
}

// BindNull sets parameter i, counted from 1, to NULL. This and the other Bind methods keep their
// first error for Step.
func (s *Stmt) BindNull(i int) {
	if s.ready() {
		s.check(i, s.es.BindNull(i))
	}
}

// BindInt64 sets parameter i to an integer.
func (s *Stmt) BindInt64(i int, v int64) {
	if s.ready() {
		s.check(i, s.es.BindInt64(i, v))
	}
}

// BindFloat sets parameter i to a float. NaN is refused: SQLite would store NULL.
func (s *Stmt) BindFloat(i int, v float64) {
	if !s.ready() {
		return
	}
	if math.IsNaN(v) {
		s.keep(fmt.Errorf("sqlite: bind parameter %d: NaN: %w", i, ErrRange))
		return
	}
	s.check(i, s.es.BindFloat(i, v))
}

// BindBool sets parameter i to 1 or 0.
func (s *Stmt) BindBool(i int, v bool) { s.BindInt64(i, boolInt(v)) }

// BindText sets parameter i to text, which is stored whole even when it holds a NUL; SQL functions
// such as length() stop at it.
func (s *Stmt) BindText(i int, v string) {
	if s.ready() {
		s.check(i, s.es.BindText(i, v))
	}
}

// BindBlob sets parameter i to a blob; nil is NULL, an empty slice is an empty blob.
func (s *Stmt) BindBlob(i int, v []byte) {
	switch {
	case v == nil:
		s.BindNull(i)
	case s.ready():
		s.check(i, s.es.BindBlob(i, v))
	}
}

// bindUint sets parameter i to an integer when v fits.
func (s *Stmt) bindUint(i int, v uint64) {
	if v > math.MaxInt64 {
		s.keep(fmt.Errorf("sqlite: bind parameter %d: %d is above the range of INTEGER: %w",
			i, v, ErrRange))
		return
	}
	s.BindInt64(i, int64(v))
}

// bindAny finds the Bind method for v.
func (s *Stmt) bindAny(i int, v any) {
	switch v := v.(type) {
	case nil:
		s.BindNull(i)
	case int64:
		s.BindInt64(i, v)
	case int:
		s.BindInt64(i, int64(v))
	case string:
		s.BindText(i, v)
	case []byte:
		s.BindBlob(i, v)
	case float64:
		s.BindFloat(i, v)
	case bool:
		s.BindBool(i, v)
	case UnixMilli:
		v.bind(s, i)
	case RFC3339:
		v.bind(s, i)
	default:
		s.bindKind(i, reflect.ValueOf(v))
	}
}

// bindKind binds the rarer types by their kind.
func (s *Stmt) bindKind(i int, v reflect.Value) {
	switch v.Kind() {
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		s.BindInt64(i, v.Int())
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		s.bindUint(i, v.Uint())
	case reflect.Float32, reflect.Float64:
		s.BindFloat(i, v.Float())
	case reflect.Bool:
		s.BindBool(i, v.Bool())
	case reflect.String:
		s.BindText(i, v.String())
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			s.BindBlob(i, v.Bytes())
			return
		}
		s.refuse(i, v.Type())
	case reflect.Pointer:
		s.bindPointer(i, v)
	default:
		s.refuse(i, v.Type())
	}
}

// bindPointer binds what v points at; nil is NULL.
func (s *Stmt) bindPointer(i int, v reflect.Value) {
	if v.IsNil() {
		s.BindNull(i)
		return
	}
	switch e := v.Elem(); e.Type() {
	case reflect.TypeFor[UnixMilli](), reflect.TypeFor[RFC3339]():
		s.bindAny(i, e.Interface())
	default:
		s.bindKind(i, e)
	}
}

// refuse keeps the error for a type that has no form in the database.
func (s *Stmt) refuse(i int, t reflect.Type) {
	if t == reflect.TypeFor[time.Time]() {
		s.keep(fmt.Errorf("sqlite: bind parameter %d: time.Time has no form of its own: "+
			"say UnixMilli{Time: t} or RFC3339{Time: t}", i))
		return
	}
	s.keep(fmt.Errorf("sqlite: bind parameter %d: cannot store a %s", i, t))
}

// ready makes the statement one that can be bound; false: it is closed, which Step will say.
func (s *Stmt) ready() bool {
	if s.closed {
		return false
	}
	if s.active || s.done {
		s.Reset()
	}
	return true
}

// keep remembers the first error.
func (s *Stmt) keep(err error) {
	if s.err == nil {
		s.err = err
	}
}

// check keeps what the engine said against binding parameter i.
func (s *Stmt) check(i int, rc int32) {
	if rc != engine.OK {
		s.failBind(i, rc)
	}
}

// failBind makes the error of a bind.
func (s *Stmt) failBind(i int, rc int32) {
	if s.err != nil {
		return
	}
	if Code(rc) == Range {
		s.err = fmt.Errorf("sqlite: bind: no parameter %d in %q, which has %d",
			i, s.sql, s.es.Params())
		return
	}
	s.err = s.c.fail("bind", s.sql, rc)
}

// SQLite has no time type, and a time that is stored in one way and compared in another is a
// silent bug. So a time.Time is refused, and these types say the form.

// UnixMilli is a time stored as INTEGER: milliseconds since 1970. Finer parts are cut off. It reads
// back in UTC.
type UnixMilli struct{ time.Time }

// RFC3339 is a time stored as TEXT in UTC, always with nine digits of the second, so that text
// order is time order and SQLite's date functions understand it. It reads back in UTC.
type RFC3339 struct{ time.Time }

// rfc3339Fixed is the form of RFC3339; years 0 to 9999 only.
const rfc3339Fixed = "2006-01-02T15:04:05.000000000Z"

func (t UnixMilli) bind(s *Stmt, i int) {
	ms := t.Time.UnixMilli()
	if time.UnixMilli(ms).UTC().Year() != t.Time.UTC().Year() {
		s.keep(fmt.Errorf("sqlite: bind parameter %d: %v in milliseconds: %w", i, t.Time, ErrRange))
		return
	}
	s.BindInt64(i, ms)
}

func (t RFC3339) bind(s *Stmt, i int) {
	utc := t.Time.UTC()
	if y := utc.Year(); y < 0 || y > 9999 {
		s.keep(fmt.Errorf("sqlite: bind parameter %d: year %d in RFC 3339: %w", i, y, ErrRange))
		return
	}
	s.BindText(i, utc.Format(rfc3339Fixed))
}

// ScanColumn reads the form that UnixMilli binds.
func (t *UnixMilli) ScanColumn(s *Stmt, i int) error {
	if k := s.Kind(i); k != Integer {
		return s.mismatch(i, "UnixMilli")
	}
	t.Time = time.UnixMilli(s.Int64(i)).UTC()
	return nil
}

// ScanColumn reads the form that RFC3339 binds, and any other RFC 3339 text.
func (t *RFC3339) ScanColumn(s *Stmt, i int) error {
	if k := s.Kind(i); k != Text {
		return s.mismatch(i, "RFC3339")
	}
	v, err := time.Parse(time.RFC3339Nano, s.Text(i))
	if err != nil {
		return fmt.Errorf("sqlite: scan column %q: %w", s.ColumnName(i), err)
	}
	t.Time = v.UTC()
	return nil
}
