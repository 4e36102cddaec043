package model

import (
	"maps"
	"strings"
	"sync"
)

// A dialect is what a server does and says otherwise than Redis 7.0.
type dialect struct {
	server, version string
	module, path    string                 // in HELLO
	info            string                 // in INFO, where it names another version
	atomic          bool                   // slots move at once, without ASK and TRYAGAIN
	newer           bool                   // than 7.0, in small things that all later servers do
	valkey          bool                   // in others that Valkey does
	flags           string                 // of commands, a line for each change
	texts           map[string]string      // errors of 7.0, and what this one says
	own             map[string]func(*call) // commands that 7.0 has not, as register takes them

	once  sync.Once
	table map[string]*command
}

var helloWithProto = strings.Replace(errHelloUnknown, "HELLO AUTH", "HELLO <proto> AUTH", 1)

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
			errHelloUnknown: helloWithProto,
		},
		own: map[string]func(*call){
			"increx -2 write,denyoom,fast 1 1 1": increx,
		},
	},
	"valkey-9": {
		server: "valkey", version: "9.1.2", module: "lua", path: "lua", info: "7.2.4\r\nserver_name:valkey\r\nvalkey_version:9.1.2",
		atomic: true, newer: true, valkey: true,
		flags: `
			-noscript blpop brpop blmove
			+skip_commandlog exec
			+no_multi watch multi
			+allow_busy select client|id client|getname client|setname
			+loading cluster|slots cluster|nodes cluster|myid
			+stale script|exists script|flush
		`,
		texts: map[string]string{
			errHelloUnknown: helloWithProto,
			errLoading:      strings.ReplaceAll(errLoading, "Redis", "Valkey"),
			errMisconf:      strings.ReplaceAll(errMisconf, "Redis", "Valkey"),
			string(IsBusy):  strings.ReplaceAll(string(IsBusy), "Redis", "Valkey"),
			errScriptArgs:   "ERR Command arguments must be strings or integers",
			"ERR SELECT is not allowed in cluster mode":                        "ERR DB index is out of range",
			"NOSCRIPT No matching script. Please use EVAL.":                    "NOSCRIPT No matching script.",
			"ERR Unknown Redis command called from script":                     "ERR Unknown command called from script",
			"ERR Please specify at least one argument for this redis lib call": "ERR Please specify at least one argument for this call",
			"ERR Script attempted to access a non local key in a cluster node": "ERR Attempted to access a non local key in a cluster node",
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
