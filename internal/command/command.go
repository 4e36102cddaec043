package command

import (
	"slices"
	"strings"

	"github.com/redislanes/redislanes/internal/resp"
)

// A Command is an encoded command and what is known of it. It aliases the
// encoding. Its methods do not allocate, unless they say so, and are safe for
// concurrent use.
type Command struct {
	rule      *Rule // of its subcommand, if that has one of its own
	container *Rule
	encoded   []byte
}

// Of looks up the command that encoded begins with. One that is not in the
// table is taken for one that may write and has its first argument as its only
// key. It does not allocate.
func Of(encoded []byte) Command {
	args := resp.ArgsOf(encoded)
	name, _ := args.Next()
	r := find(rules, name)
	if r == nil {
		return Command{&unknown, &unknown, encoded}
	}
	c := Command{r, r, encoded}
	if len(r.subcommands) > 0 {
		if sub, ok := args.Next(); ok {
			c.rule = subcommand(r, sub)
		}
	}
	return c
}

// subcommand returns the rule of the subcommand, or that of the command if it is
// not listed.
func subcommand[T text](r *Rule, name T) *Rule {
	for i := range r.subcommands {
		if sub := &r.subcommands[i]; equalName(name, sub.name) {
			return sub
		}
	}
	return r
}

// SlowNames returns the names, in upper case and sorted, of the commands that are
// slow by default, some of them only with many keys.
func SlowNames() []string {
	var names []string
	for _, row := range slowRows {
		names = append(names, strings.Fields(row.names)...)
	}
	slices.Sort(names)
	return names
}

// Names returns the names, in upper case and sorted, of the commands in the table;
// those of subcommands are NAME|SUBCOMMAND.
func Names() []string {
	var names []string
	for _, row := range rows {
		names = append(names, strings.Fields(row.names)...)
	}
	slices.Sort(names)
	return names
}

// Known reports whether the command is in the table.
func (c Command) Known() bool { return c.rule != &unknown }

// Name returns the name in upper case, without the subcommand. It allocates for
// a command that is not known.
func (c Command) Name() string {
	if c.container.name != "" {
		return c.container.name
	}
	return strings.ToUpper(resp.CommandName(c.encoded))
}

// Effect returns what the command does to its connection.
func (c Command) Effect() Effect { return c.rule.effect }

// Traits returns how the command may travel.
func (c Command) Traits() Traits {
	t := c.rule.traits
	if c.rule.isSlow(resp.Elements(c.encoded) - 1) {
		t |= Slow
	}
	if c.rule.find == byStreams {
		if _, block := streamOptions(c.args()); block >= 0 {
			t |= Blocking
		}
	}
	return t
}

// isSlow tells whether the command is slow by default, with so many arguments
// after its name.
func (r *Rule) isSlow(args int) bool {
	return r.slow == alwaysSlow || r.slow == slowWithManyKeys && args/int(r.step) > manyKeys
}
