// SPDX-License-Identifier: MIT

package datastar

// SignalsOptions are those of patch-signals.
type SignalsOptions struct {
	Common
	OnlyIfMissing bool // set only signals that the page does not have
}

// AppendPatchSignals appends the event that merges the JSON object into the
// page's signals (RFC 7386: null removes one). The text is sent as it is, also
// over several lines; the client reads it. Nothing is appended when it returns
// an error.
func AppendPatchSignals(dst, object []byte, o SignalsOptions) ([]byte, error) {
	out, err := o.append(dst, "datastar-patch-signals")
	if err != nil {
		return dst, err
	}
	if o.OnlyIfMissing {
		out = append(out, "data: onlyIfMissing true\n"...)
	}
	return append(appendLines(out, "data: signals ", object), '\n'), nil
}

// AppendRemoveSignals appends the event that removes signals. A dot in a path
// leads into an object: "user.name".
func AppendRemoveSignals(dst []byte, o SignalsOptions, paths ...string) ([]byte, error) {
	tree := make(map[string]any)
	for _, path := range paths {
		addPath(tree, path)
	}
	return AppendPatchSignals(dst, mustJSON(tree), o)
}
