// SPDX-License-Identifier: MIT

package attr_test

import (
	"html/template"
	"os"
	"time"

	"m0serve.dev/datastar/attr"
)

// A page with a field that searches while one types, and a button with what somebody typed in it.
func Example() {
	page := template.Must(template.New("page").Parse(`<input {{.Search.HTMLAttr}}>
<b {{.Pick.HTMLAttr}}></b>
`))
	const typed = `O'Neil "@get("`
	err := page.Execute(os.Stdout, map[string]any{
		"Search": attr.List{
			attr.Bind("query", attr.BindOptions{}),
			attr.On("input", attr.Get("/search", attr.Request{}), attr.OnOptions{
				Timing: attr.Timing{Debounce: 300 * time.Millisecond},
			}),
		},
		"Pick": attr.On("click", "$query = "+attr.Str(typed), attr.OnOptions{}),
	})
	if err != nil {
		panic(err)
	}
	// Output:
	// <input data-bind="query" data-on:input__debounce.300ms="@get(&#39;/search&#39;)">
	// <b data-on:click="$query = &#39;O\u0027Neil \u0022\u0040get(\u0022&#39;"></b>
}
