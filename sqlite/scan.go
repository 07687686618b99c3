// SPDX-License-Identifier: MIT

package sqlite

import (
	"fmt"
	"reflect"
	"strings"
)

// Scanner is a type that reads itself from column i of the current row. Its method stands on the
// pointer.
type Scanner interface {
	ScanColumn(s *Stmt, i int) error
}

// plan says where the columns of a statement go in a T.
type plan[T any] struct {
	fields [][]int // field of each column; nil: T takes the only column
}

// scanner reads rows into one T, whose fields it found once.
type scanner[T any] struct {
	into    T
	targets []any // pointers into `into`, one per column
}

// row reads the current row.
func (r *scanner[T]) row(s *Stmt) (T, error) {
	if r.targets == nil {
		targets, err := targetsOf(s, &r.into)
		if err != nil {
			return r.into, err
		}
		r.targets = targets
	}
	for i, target := range r.targets {
		if err := s.scan(i, target); err != nil {
			return r.into, err
		}
	}
	return r.into, nil
}

// scanRow reads the current row into row. A single basic value needs no plan.
func scanRow[T any](s *Stmt, row *T) error {
	if s.row == 1 && isBasic(any(row)) {
		return s.scan(0, any(row))
	}
	targets, err := targetsOf(s, row)
	if err != nil {
		return err
	}
	for i, target := range targets {
		if err := s.scan(i, target); err != nil {
			return err
		}
	}
	return nil
}

func isBasic(p any) bool {
	switch p.(type) {
	case *int64, *string, *[]byte, *float64, *bool, *int:
		return true
	}
	return false
}

// targetsOf finds the pointers for the columns of s in row; the plan stays with the statement.
func targetsOf[T any](s *Stmt, row *T) ([]any, error) {
	p, ok := s.plan.(*plan[T])
	if !ok {
		var err error
		if p, err = planFor[T](s); err != nil {
			return nil, err
		}
		s.plan = p
	}
	if p.fields == nil {
		return []any{row}, nil
	}
	v := reflect.ValueOf(row).Elem()
	targets := make([]any, len(p.fields))
	for i, at := range p.fields {
		targets[i] = v.FieldByIndex(at).Addr().Interface()
	}
	return targets, nil
}

// planFor matches columns and fields.
func planFor[T any](s *Stmt) (*plan[T], error) {
	t := reflect.TypeFor[T]()
	if t.Kind() != reflect.Struct || reflect.PointerTo(t).Implements(reflect.TypeFor[Scanner]()) {
		if s.row != 1 {
			return nil, fmt.Errorf("sqlite: scan: %d columns (%s) into one %s: use a struct",
				s.row, s.columnNames(), t)
		}
		return &plan[T]{}, nil
	}
	names := fieldNames(t)
	p := &plan[T]{fields: make([][]int, s.row)}
	for i := range p.fields {
		name := s.ColumnName(i)
		at, ok := names[name]
		if !ok {
			at, ok = names[foldName(name)]
		}
		if !ok {
			return nil, fmt.Errorf("sqlite: scan: no field of %s for column %d %q: "+
				"name it in the SQL with AS or in a tag", t, i, name)
		}
		for k := range i {
			if reflect.DeepEqual(p.fields[k], at) {
				return nil, fmt.Errorf("sqlite: scan: columns %q and %q both go to one field of %s",
					s.ColumnName(k), name, t)
			}
		}
		p.fields[i] = at
	}
	return p, nil
}

// fieldNames lists the fields of t that can take a column, by tag or by folded name.
func fieldNames(t reflect.Type) map[string][]int {
	names := make(map[string][]int)
	for _, f := range reflect.VisibleFields(t) {
		tag, tagged := f.Tag.Lookup("sqlite")
		if !f.IsExported() || tag == "-" || throughPointer(t, f.Index) {
			continue
		}
		if tagged {
			names[tag] = f.Index
			continue
		}
		if _, taken := names[foldName(f.Name)]; !taken {
			names[foldName(f.Name)] = f.Index
		}
	}
	return names
}

// throughPointer reports whether the way to a promoted field leads through a pointer.
func throughPointer(t reflect.Type, index []int) bool {
	for _, i := range index[:len(index)-1] {
		if t = t.Field(i).Type; t.Kind() == reflect.Pointer {
			return true
		}
	}
	return false
}

// foldName makes user_id, UserID and userId one name.
func foldName(s string) string { return strings.ToLower(strings.ReplaceAll(s, "_", "")) }

// scan reads column i into the pointer target, without silent conversion.
func (s *Stmt) scan(i int, target any) error {
	switch p := target.(type) {
	case *int64:
		if s.Kind(i) != Integer {
			return s.mismatch(i, "int64")
		}
		*p = s.Int64(i)
	case *int:
		if s.Kind(i) != Integer {
			return s.mismatch(i, "int")
		}
		return s.scanInt(i, reflect.ValueOf(p).Elem())
	case *string:
		if s.Kind(i) != Text {
			return s.mismatch(i, "string")
		}
		*p = s.Text(i)
	case *[]byte:
		return s.scanBytes(i, p)
	case *float64:
		if k := s.Kind(i); k != Float && k != Integer {
			return s.mismatch(i, "float64")
		}
		*p = s.Float64(i)
	case *bool:
		return s.scanBool(i, p)
	case *any:
		*p = s.value(i)
	case Scanner:
		return p.ScanColumn(s, i)
	default:
		return s.scanKind(i, reflect.ValueOf(target).Elem())
	}
	return nil
}

func (s *Stmt) scanBytes(i int, p *[]byte) error {
	switch s.Kind(i) {
	case Blob, Text, Null:
		*p = s.Blob(i)
		return nil
	}
	return s.mismatch(i, "[]byte")
}

func (s *Stmt) scanBool(i int, p *bool) error {
	if s.Kind(i) != Integer {
		return s.mismatch(i, "bool")
	}
	v := s.Int64(i)
	if v != 0 && v != 1 {
		return fmt.Errorf("sqlite: scan column %d %q: %d as bool: %w", i, s.ColumnName(i), v, ErrRange)
	}
	*p = v == 1
	return nil
}

// scanKind reads into the rarer types by their kind.
func (s *Stmt) scanKind(i int, v reflect.Value) error {
	switch v.Kind() {
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return s.scanInt(i, v)
	case reflect.Float32, reflect.Float64:
		var f float64
		if err := s.scan(i, &f); err != nil {
			return err
		}
		if v.OverflowFloat(f) {
			return s.overflow(i, f, v.Type())
		}
		v.SetFloat(f)
	case reflect.Bool:
		var b bool
		if err := s.scanBool(i, &b); err != nil {
			return err
		}
		v.SetBool(b)
	case reflect.String:
		if s.Kind(i) != Text {
			return s.mismatch(i, v.Type().String())
		}
		v.SetString(s.Text(i))
	case reflect.Pointer:
		if s.IsNull(i) {
			v.SetZero()
			return nil
		}
		v.Set(reflect.New(v.Type().Elem()))
		return s.scan(i, v.Interface())
	case reflect.Slice:
		if v.Type().Elem().Kind() != reflect.Uint8 {
			return s.mismatch(i, v.Type().String())
		}
		var b []byte
		if err := s.scanBytes(i, &b); err != nil {
			return err
		}
		v.Set(reflect.ValueOf(b).Convert(v.Type()))
	default:
		return s.mismatch(i, v.Type().String())
	}
	return nil
}

// scanInt reads an INTEGER that must fit v.
func (s *Stmt) scanInt(i int, v reflect.Value) error {
	if s.Kind(i) != Integer {
		return s.mismatch(i, v.Type().String())
	}
	n := s.Int64(i)
	if v.CanUint() {
		if n < 0 || v.OverflowUint(uint64(n)) {
			return s.overflow(i, n, v.Type())
		}
		v.SetUint(uint64(n))
		return nil
	}
	if v.OverflowInt(n) {
		return s.overflow(i, n, v.Type())
	}
	v.SetInt(n)
	return nil
}

func (s *Stmt) overflow(i int, n any, t reflect.Type) error {
	return fmt.Errorf("sqlite: scan column %d %q: %v as %s: %w", i, s.ColumnName(i), n, t, ErrRange)
}

// mismatch is the error for a value of the wrong kind.
func (s *Stmt) mismatch(i int, want string) error {
	k := s.Kind(i)
	if k == Null {
		return fmt.Errorf("sqlite: scan column %d %q: NULL into %s: use *%s",
			i, s.ColumnName(i), want, want)
	}
	return fmt.Errorf("sqlite: scan column %d %q: %s into %s", i, s.ColumnName(i), k, want)
}
