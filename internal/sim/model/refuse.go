package model

import (
	"strings"
	"time"
)

// A Refusal is why a node runs no command for now.
type Refusal string

// Refusals that end by themselves, in the words of servers.
const (
	NoReplicas  Refusal = errNoReplicas
	IsLoading   Refusal = errLoading
	ClusterDown Refusal = errDown
	IsBusy      Refusal = "BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE."
	MasterDown  Refusal = errMasterDown
	Misconf     Refusal = errMisconf
	OutOfSpace  Refusal = errOOM
	Unblocked   Refusal = "UNBLOCKED force unblock from blocking operation, instance state changed (master -> replica?)"
	Unlisted    Refusal = "ERR the operator is at lunch" // no server says so
)

// PassingRefusals returns all refusals that end by themselves.
func PassingRefusals() []Refusal {
	return []Refusal{IsBusy, IsLoading, MasterDown, Misconf, OutOfSpace, NoReplicas, Unblocked, Unlisted}
}

// Keyed stands for all commands with keys.
const Keyed = "*"

// A refusing is what a node refuses of one command.
type refusing struct {
	text string
	left int // how many more times; 0: until it is lifted; negative: one in so many

	count int
}

// Refuse makes the node refuse a command, named in lower case, such as "client|setname",
// so many times; 0 stands for every time, and -n for one time in n. The text "" ends it. The
// command does not run.
func (n *Node) Refuse(name string, text Refusal, times int) {
	n.lock(func(time.Time) {
		if n.refusings == nil {
			n.refusings = make(map[string]*refusing)
		}
		if n.refusings[name] = (&refusing{text: string(text), left: times}); text == "" {
			delete(n.refusings, name)
		}
	})
}

// refusesStep returns why the node refuses the command, or nothing.
func (n *Node) refusesStep(cmd *command, args [][]byte) string {
	if len(n.refusings) == 0 {
		return ""
	}
	name := strings.ToLower(string(args[0]))
	if cmd != nil {
		name = cmd.name
	}
	r := n.refusings[name]
	if r == nil && cmd != nil && cmd.routed() {
		name = Keyed
		r = n.refusings[name]
	}
	switch {
	case r == nil:
		return ""
	case r.left < 0:
		if r.count++; r.count%-r.left != 0 {
			return ""
		}
	case r.left == 1:
		delete(n.refusings, name)
	case r.left > 1:
		r.left--
	}
	return r.text
}

// Busy makes the node refuse nearly all commands, as while it runs a script that takes long.
func (n *Node) Busy(yes bool) { n.lock(func(time.Time) { n.busy = yes }) }
