package model

import (
	"maps"
	"strings"
	"sync"
)

// A dialect is what a server does and says otherwise than Redis 7.0.
type dialect struct {
	server, version, module string
	atomic                  bool                   // slots move at once, without ASK and TRYAGAIN
	newer                   bool                   // than 7.0, in small things that all later servers do
	flags                   string                 // of commands, a line for each change
	texts                   map[string]string      // errors of 7.0, and what this one says
	own                     map[string]func(*call) // commands that 7.0 has not, as register takes them

	once  sync.Once
	table map[string]*command
}

var dialects = map[string]*dialect{
	"": {server: "redis", version: "7.0.15"},
	"redis-8.10": {
		server: "redis", version: "8.10.2", module: "vectorset", atomic: true, newer: true,
		flags: `
			+script_runner eval evalsha
			-noscript blpop brpop blmove
			+denyoom subscribe
			+loading cluster|slots cluster|nodes cluster|myid cluster|keyslot
		`,
		texts: map[string]string{
			errHelloUnknown: strings.Replace(errHelloUnknown, "HELLO AUTH", "HELLO <proto> AUTH", 1),
		},
		own: map[string]func(*call){
			"increx -2 write,denyoom,fast 1 1 1": increx,
		},
	},
}

// KnowsServer reports whether the model has the dialect of Options.Server.
func KnowsServer(name string) bool { return dialects[name] != nil }

// commands are those of the dialect. Those of 7.0 are complete when the first cluster is made.
func (d *dialect) commands() map[string]*command {
	d.once.Do(func() {
		d.table = make(map[string]*command)
		for name, c := range commands {
			d.table[name] = c.clone()
		}
		for text, run := range d.own {
			registerIn(d.table, text, run)
		}
		for line := range strings.Lines(d.flags) {
			words := strings.Fields(line)
			for _, name := range words[min(1, len(words)):] {
				parent, sub, nested := strings.Cut(name, "|")
				c := d.table[parent]
				if nested {
					c = c.subs[sub]
				}
				c.flags[words[0][1:]] = words[0][0] == '+'
				c.denyOOM = c.flags["denyoom"]
			}
		}
	})
	return d.table
}

func (c *command) clone() *command {
	d := *c
	d.flags, d.subs = maps.Clone(c.flags), maps.Clone(c.subs)
	for name, sub := range d.subs {
		d.subs[name] = sub.clone()
	}
	return &d
}

// said is how the server says an error of 7.0.
func (d *dialect) said(text string) string {
	if own, ok := d.texts[text]; ok {
		return own
	}
	return text
}
