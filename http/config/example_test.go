// SPDX-License-Identifier: MIT

package config_test

import (
	"fmt"

	"m0serve.dev/http/config"
)

// A setting is a flag and a variable, and the flag wins. Everything that is wrong is
// said at once.
func ExampleRead() {
	port, greeting := 0, ""
	settings := []config.Setting{
		{Flag: "port", Env: "APP_PORT", Value: "N", Default: "8080", Set: config.Number(&port, 0, 65535)},
		{Flag: "greeting", Env: "APP_GREETING", Value: "TEXT", Default: "hello",
			Set: config.Text(&greeting)},
	}
	environment := map[string]string{"APP_PORT": "9000", "APP_GREETING": "good day"}
	lookup := func(name string) (string, bool) { v, ok := environment[name]; return v, ok }

	given, err := config.Read(settings, []string{"--port", "9001"}, lookup)
	fmt.Println(port, greeting, err)
	for _, g := range given {
		fmt.Println(g.Setting.Flag, "from", g.Source)
	}

	_, err = config.Read(settings, []string{"--port", "many", "--greting", "x"}, lookup)
	for _, p := range config.Problems(err) {
		fmt.Printf("%s: %s\n", p.Subject(), p.Cure)
	}
	// Output:
	// 9001 good day <nil>
	// port from --port
	// greeting from $APP_GREETING
	// --greting: there is no such flag: did you mean --greeting?
	// --port "many": set it to a whole number from 0 to 65535
}
