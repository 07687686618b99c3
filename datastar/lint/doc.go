// SPDX-License-Identifier: MIT

// Package lint finds what Datastar v1 passes over in silence: attributes that the client does not
// know, names that HTML changes, expressions that cannot run.
//
//	func TestPage(t *testing.T) {
//		lint.HTML(t, page) // page: what the browser gets, not the template
//	}
//
// # Model
//
// Check reads a page or a part of one as a browser does, and looks at each data- attribute with the
// client's own rules. A Finding says where (line and column), what happens, and the cure. Patch
// looks at elements for an event or an answer: those of a patch without a selector need ids, and
// the page, when it is given, has to have them.
//
// Attributes of others are left alone: only a name that the client knows, used in a way it does not
// know, or a name close to one, is a finding. Options.Allow lists names that are meant.
//
// # Limits
//
// It does not run anything. An expression is read for its quotes, brackets, signals and actions
// and not parsed; signals that only the server sends are not known to it. Rules are those of the
// clients 1.0.1 to 1.0.4; attributes of Datastar Pro are findings unless Options.Pro is set.
package lint
