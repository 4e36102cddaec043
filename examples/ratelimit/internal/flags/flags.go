// Package flags reads the flags of a program into a struct, by github.com/alecthomas/kong.
package flags

import (
	"errors"
	"fmt"
	"io"

	"github.com/alecthomas/kong"
)

// ErrHelp says that the user has asked for the usage, which was written.
var ErrHelp = errors.New("help was shown")

// A Flag is a flag and its value.
type Flag struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Parse reads the flags into a pointer to a struct with kong's tags, and returns all of them. Methods Validate of
// the struct and its fields are called. The usage goes to out.
func Parse(into any, args []string, out io.Writer, options ...kong.Option) ([]Flag, error) {
	helped := false
	parser, err := kong.New(into, append(options, kong.Writers(out, out), kong.Exit(func(int) { helped = true }))...)
	if err != nil {
		return nil, err
	}
	parsed, err := parser.Parse(withTwoDashes(args))
	switch {
	case helped:
		return nil, ErrHelp
	case err != nil:
		return nil, fmt.Errorf("%w (-help lists the settings)", err)
	}
	var all []Flag
	for _, f := range parsed.Flags() {
		if f.Name != "help" {
			all = append(all, Flag{f.Name, fmt.Sprint(parsed.FlagValue(f))})
		}
	}
	return all, nil
}

// withTwoDashes takes flags with one dash, as package flag does, too. There are no
// flags of one letter that could be meant instead.
func withTwoDashes(args []string) []string {
	all := make([]string, len(args))
	for i, arg := range args {
		if len(arg) > 2 && arg[0] == '-' && 'a' <= arg[1] && arg[1] <= 'z' {
			arg = "-" + arg
		}
		all[i] = arg
	}
	return all
}
