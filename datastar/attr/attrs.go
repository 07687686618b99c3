// SPDX-License-Identifier: MIT

package attr

import (
	"strconv"
	"strings"
	"time"
)

// Timing is when an expression runs, measured from the event.
type Timing struct {
	Delay          time.Duration
	Debounce       time.Duration // once there was no event for so long
	Leading        bool          // with Debounce: at the first event too
	NoTrailing     bool          // with Debounce: not at the end
	Throttle       time.Duration // once in so long at the most
	NoLeading      bool          // with Throttle: not at the first event
	Trailing       bool          // with Throttle: at the end too
	ViewTransition bool
}

func (o Timing) add(n *name) *name {
	n.mod(o.Delay > 0, "delay", wait(o.Delay))
	if o.Debounce > 0 {
		n.mod(true, "debounce", words(wait(o.Debounce), o.Leading, "leading",
			o.NoTrailing, "notrailing")...)
	}
	if o.Throttle > 0 {
		n.mod(true, "throttle", words(wait(o.Throttle), o.NoLeading, "noleading",
			o.Trailing, "trailing")...)
	}
	return n.mod(o.ViewTransition, "viewtransition")
}

// words are the arguments of a modifier: the time first, which the client wants.
func words(first string, a bool, wordA string, b bool, wordB string) []string {
	list := []string{first}
	if a {
		list = append(list, wordA)
	}
	if b {
		list = append(list, wordB)
	}
	return list
}

// OnOptions are those of On.
type OnOptions struct {
	Timing
	Window, Document bool // listen there and not on the element
	Outside          bool // only to events outside of the element
	Prevent, Stop    bool // preventDefault, stopPropagation
	Capture, Passive bool
	Once             bool
}

// On is data-on: run the expression at an event, which is evt in it. The submit of a form does not
// send it then.
func On(event, expression string, o OnOptions) Attribute {
	k, ok := keyOf(event, false)
	if !ok {
		panic("attr: no attribute can name the event " + strconv.Quote(event))
	}
	n := newName("on").key(k).mod(o.Window, "window").mod(o.Document, "document").
		mod(o.Outside, "outside").mod(o.Prevent, "prevent").mod(o.Stop, "stop").
		mod(o.Capture, "capture").mod(o.Passive, "passive").mod(o.Once, "once")
	return o.Timing.add(n).is(expression)
}

// Init is data-init: run the expression when the element appears.
func Init(expression string, delay time.Duration) Attribute {
	return newName("init").mod(delay > 0, "delay", wait(delay)).is(expression)
}

// Effect is data-effect: run the expression now and whenever its signals change.
func Effect(expression string) Attribute { return newName("effect").is(expression) }

// OnInterval is data-on-interval: run the expression every so often, with leading also now.
func OnInterval(every time.Duration, leading bool, expression string) Attribute {
	args := words(wait(every), leading, "leading", false, "")
	return newName("on-interval").mod(true, "duration", args...).is(expression)
}

// IntersectOptions are those of OnIntersect.
type IntersectOptions struct {
	Timing
	Once       bool
	Exit       bool // when the element goes, not when it comes
	Half, Full bool // of it has to be seen
	Threshold  int  // percent of it that has to be seen; 0: any part
}

// OnIntersect is data-on-intersect: run the expression when the element comes into view.
func OnIntersect(expression string, o IntersectOptions) Attribute {
	n := newName("on-intersect").mod(o.Once, "once").mod(o.Exit, "exit").mod(o.Half, "half").
		mod(o.Full, "full").mod(o.Threshold > 0, "threshold", strconv.Itoa(o.Threshold))
	return o.Timing.add(n).is(expression)
}

// OnSignalPatch is data-on-signal-patch: run the expression when signals change; patch in it holds
// them.
func OnSignalPatch(expression string, o Timing) Attribute {
	return o.add(newName("on-signal-patch")).is(expression)
}

// OnSignalPatchFilter says which signals OnSignalPatch on the same element hears of, by regular
// expressions.
func OnSignalPatchFilter(include, exclude string) Attribute {
	// Read by JSON.parse, so without Str.
	doc := map[string]string{}
	for word, value := range map[string]string{"include": include, "exclude": exclude} {
		if value != "" {
			doc[word] = value
		}
	}
	return newName("on-signal-patch-filter").is(JSON(doc))
}

// Signals is data-signals: set signals to the fields of v, a struct or map. With ifMissing only
// those that are not there yet.
func Signals(v any, ifMissing bool) Attribute {
	return newName("signals").mod(ifMissing, "ifmissing").is(JSON(v))
}

// Signal is data-signals for one signal and an expression.
func Signal(signal, expression string, ifMissing bool) Attribute {
	if k, ok := keyOf(signal, true); ok {
		return newName("signals").key(k).mod(ifMissing, "ifmissing").is(expression)
	}
	return newName("signals").mod(ifMissing, "ifmissing").is(object(signal, expression))
}

// object is an object with one member: for names that fit into no attribute's name. (The client
// reads no second attribute of the same name, so a second such name has to go in there too.)
func object(called, expression string) string {
	return "{" + Str(called) + ": (" + strings.TrimSpace(expression) + ")}"
}

// Computed is data-computed: a signal that always is the value of an expression.
func Computed(signal, expression string) Attribute {
	if k, ok := keyOf(signal, true); ok {
		return newName("computed").key(k).is(expression)
	}
	return newName("computed").is("{" + Str(signal) + ": () => (" + expression + ")}")
}

// BindOptions are those of Bind.
type BindOptions struct {
	Prop   string   // property of the element; "": by the kind of the element
	Events []string // that tell of a change; none: by the kind of the element
}

// Bind is data-bind: a signal and the value of a field are one.
func Bind(signal string, o BindOptions) Attribute {
	n := newName("bind").mod(o.Prop != "", "prop", kebab(o.Prop)).
		mod(len(o.Events) > 0, "event", o.Events...)
	return n.is(signal) // as the value the name needs no spelling
}

// Indicator is data-indicator: a signal that is true while a request of the element runs.
func Indicator(signal string) Attribute { return newName("indicator").is(signal) }

// Ref is data-ref: a signal that holds the element.
func Ref(signal string) Attribute { return newName("ref").is(signal) }

// Text is data-text: the element shows the value of an expression.
func Text(expression string) Attribute { return newName("text").is(expression) }

// Show is data-show: the element is there while an expression is true.
func Show(expression string) Attribute { return newName("show").is(expression) }

// Class is data-class: the element has the class while an expression is true.
func Class(class, expression string) Attribute { return named("class", class, expression) }

// Style is data-style: a CSS property of the element is the value of an expression. The client
// cannot set a custom property with capital letters.
func Style(property, expression string) Attribute {
	if strings.HasPrefix(property, "--") && strings.ContainsFunc(property, isUpper) {
		panic("attr: the client cannot set the property " + strconv.Quote(property))
	}
	return named("style", property, expression)
}

// Attr is data-attr: an attribute of the element is the value of an expression; false and null take
// it away.
func Attr(attribute, expression string) Attribute {
	return named("attr", attribute, expression)
}

// named is an attribute whose key the client takes as it is.
func named(plugin, called, expression string) Attribute {
	if k, ok := keyOf(called, false); ok && (k.mod == "" || plugin == "class") {
		return newName(plugin).key(k).is(expression)
	}
	return newName(plugin).is(object(called, expression))
}

// JSONSignals is data-json-signals: the element shows the signals as JSON, those that regular
// expressions choose ("": all), in one line when terse.
func JSONSignals(include, exclude string, terse bool) Attribute {
	n := newName("json-signals").mod(terse, "terse")
	if include == "" && exclude == "" {
		return n.is("")
	}
	return n.is(OnSignalPatchFilter(include, exclude).Value)
}

// Ignore is data-ignore: the client leaves the element alone, and with it all that is in it unless
// self.
func Ignore(self bool) Attribute { return newName("ignore").mod(self, "self").is("") }

// IgnoreMorph is data-ignore-morph: a patch leaves the element and all that is in it as they are.
func IgnoreMorph() Attribute { return newName("ignore-morph").is("") }

// PreserveAttr is data-preserve-attr: a patch leaves these attributes of the element as they are.
func PreserveAttr(names ...string) Attribute {
	return newName("preserve-attr").is(strings.Join(names, " "))
}
