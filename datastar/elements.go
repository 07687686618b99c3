// SPDX-License-Identifier: MIT

package datastar

import (
	"context"
	"errors"
	"fmt"
	"io"
)

// A Mode says how elements get into the page.
type Mode uint8

// The modes. Outer, the default, morphs the element with the same id into the
// new one. All but Outer and Replace need a selector.
const (
	Outer Mode = iota
	Inner
	Replace
	Prepend
	Append
	Before
	After
	Remove
)

var modes = [...]string{
	"outer", "inner", "replace", "prepend", "append", "before", "after", "remove",
}

// String is the mode's name on the wire.
func (m Mode) String() string {
	if int(m) < len(modes) {
		return modes[m]
	}
	return fmt.Sprintf("mode %d", uint8(m))
}

// A Namespace is that of the elements sent.
type Namespace uint8

// The namespaces. HTML is the default.
const (
	HTML Namespace = iota
	SVG
	MathML
)

var namespaces = [...]string{"html", "svg", "mathml"}

// String is the namespace's name on the wire.
func (n Namespace) String() string {
	if int(n) < len(namespaces) {
		return namespaces[n]
	}
	return fmt.Sprintf("namespace %d", uint8(n))
}

// Errors of element events.
var (
	// ErrSelector refuses a mode that the client cannot apply without a selector.
	ErrSelector = errors.New("datastar: this mode needs a selector")
	// ErrOption refuses a mode or namespace that does not exist.
	ErrOption = errors.New("datastar: no such mode or namespace")
)

// ElementsOptions are those of patch-elements. The zero value morphs each
// element into the one with the same id.
type ElementsOptions struct {
	Common
	Selector               string // CSS selector; "": by the ids of the elements
	Mode                   Mode
	UseViewTransition      bool
	ViewTransitionSelector string // used only with UseViewTransition
	Namespace              Namespace
}

// elementsKey begins each line of the elements.
const elementsKey = "data: elements "

// AppendPatchElements appends the event that patches html, one or more elements,
// into the page. Nothing is appended when it returns an error.
func AppendPatchElements(dst, html []byte, o ElementsOptions) ([]byte, error) {
	if err := o.check(); err != nil {
		return dst, err
	}
	l := lines{dst: o.append(dst), key: elementsKey}
	l.write(html)
	return l.finish(), nil
}

// AppendRemoveElements appends the event that removes what selector finds.
func AppendRemoveElements(dst []byte, selector string, o ElementsOptions) ([]byte, error) {
	if selector == "" {
		return dst, ErrSelector
	}
	o.Selector, o.Mode = selector, Remove
	return AppendPatchElements(dst, nil, o)
}

// A Component renders itself, as those of templ do.
type Component interface {
	Render(ctx context.Context, w io.Writer) error
}

// AppendPatchComponent is AppendPatchElements of what c renders, which goes
// straight into the event. It allocates one small writer; the component may
// allocate more. Nothing is appended when it returns an error.
func AppendPatchComponent(
	ctx context.Context, dst []byte, c Component, o ElementsOptions,
) ([]byte, error) {
	if err := o.check(); err != nil {
		return dst, err
	}
	l := &lines{dst: o.append(dst), key: elementsKey}
	if err := c.Render(ctx, l); err != nil {
		return dst, fmt.Errorf("datastar: render: %w", err)
	}
	return l.finish(), nil
}

func (o *ElementsOptions) check() error {
	switch {
	case int(o.Mode) >= len(modes) || int(o.Namespace) >= len(namespaces):
		return ErrOption
	case !isLine(o.Selector) || !isLine(o.ViewTransitionSelector):
		return ErrLine
	case o.Selector == "" && o.Mode != Outer && o.Mode != Replace:
		return ErrSelector
	}
	return o.Common.check()
}

// append writes everything before the elements. The options have been checked.
func (o *ElementsOptions) append(dst []byte) []byte {
	dst = o.Common.append(dst, "datastar-patch-elements")
	if o.Selector != "" {
		dst = appendLine(dst, "data: selector ", o.Selector)
	}
	if o.Mode != Outer {
		dst = appendLine(dst, "data: mode ", modes[o.Mode])
	}
	if o.UseViewTransition {
		dst = append(dst, "data: useViewTransition true\n"...)
		if o.ViewTransitionSelector != "" {
			dst = appendLine(dst, "data: viewTransitionSelector ", o.ViewTransitionSelector)
		}
	}
	if o.Namespace != HTML {
		dst = appendLine(dst, "data: namespace ", namespaces[o.Namespace])
	}
	return dst
}
