package sim

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"time"

	"github.com/redislanes/redislanes/internal/sim/model"
)

// A Fault is one that [Cluster.Trouble] has made, and that [Cluster.Replay] can make again.
type Fault struct {
	At   time.Duration // since the call of Trouble or Replay
	For  time.Duration // how long it lasts; 0: it acts once, or lasts until Heal
	Kind string        // the method of Node; Host.Isolate and others of Host; Move; KillFailover is Kill and Failover
	Host string        // the name of the host, for kinds of Host
	Node string        // the address of the node; for kinds of Host, empty stands for all nodes
	By   time.Duration // for delays, and PauseWrites
	N    int           // CutReplies: after how many bytes; Refuse: how many commands; Move: one slot in 163, from this one on
	Text string        // Refuse: the error
	What string        // what came of it; Replay does not read it
}

// String returns a line of Go for a []sim.Fault.
func (f Fault) String() string {
	var fields []string
	what := f.What
	f.What = ""
	for v, i := reflect.ValueOf(f), 0; i < v.NumField(); i++ {
		text := fmt.Sprintf("%#v", v.Field(i).Interface())
		if d, ok := v.Field(i).Interface().(time.Duration); ok && d%time.Millisecond == 0 {
			text = fmt.Sprintf("%d * time.Millisecond", d.Milliseconds())
		}
		if !v.Field(i).IsZero() {
			fields = append(fields, v.Type().Field(i).Name+": "+text)
		}
	}
	line := "{" + strings.Join(fields, ", ") + "}, // " + what
	return strings.TrimSuffix(line, " // ")
}

// A kind of fault. Those of hosts have names that begin with "Host.".
type kind struct {
	name   string
	weight int // how often Trouble makes it; Config.Weights may change that
	lasts  bool
	draw   func(f *Fault, r *rand.Rand) // chooses the arguments; nil: there are none
	begin  func(t *target)
}

func (k kind) ofHost() bool { return strings.HasPrefix(k.name, "Host.") }

// A target is what a fault acts on.
type target struct {
	*Fault
	c     *Cluster
	node  *Node
	host  *Host
	nodes []*Node // for a fault of a host: none stands for all
}

// kinds are the faults of Trouble and Replay.
var kinds = []kind{
	{"Kill", 1, true, nil, node((*Node).Kill)},
	{"KillFailover", 2, true, nil, func(t *target) { t.node.Kill(); t.failsOver(t.node.Failover()) }},
	{"Failover", 2, false, nil, func(t *target) { t.failsOver(t.node.Failover()) }},
	{"FailoverLossy", 1, false, nil, func(t *target) { t.failsOver(t.node.FailoverLossy()) }},
	{"Freeze", 1, true, nil, node((*Node).Freeze)},
	{"Isolate", 1, true, nil, node((*Node).Isolate)},
	{"RefuseDials", 1, true, nil, node((*Node).RefuseDials)},
	{"Delay", 2, true, below(300), func(t *target) { t.node.Delay(t.By) }},
	{"DelayOne", 2, true, below(2000), func(t *target) { t.node.DelayOne(t.By) }},
	{"PauseWrites", 1, true, below(1000), func(t *target) { t.node.PauseWrites(t.By) }},
	{"CutReplies", 8, true, bytes, func(t *target) { t.node.CutReplies(t.N) }},
	{"Cut", 6, false, nil, node((*Node).Cut)},
	{"CutSilently", 2, true, nil, node((*Node).CutSilently)}, // lasts until the program hears of it
	{"Refuse", 2, true, refusal, func(t *target) { t.node.Refuse("*", t.Text, t.N) }},
	{"Move", 2, false, first, (*target).move},
	{"Host.Isolate", 2, true, nil, host((*Host).Isolate)},
	{"Host.HoldRequests", 2, true, nil, host((*Host).HoldRequests)},
	{"Host.HoldReplies", 2, true, nil, host((*Host).HoldReplies)},
	{"Host.Delay", 2, true, below(300), func(t *target) { t.host.Delay(t.By, t.nodes...) }},
	{"Host.Cut", 2, false, nil, host((*Host).Cut)},
	{"Host.Freeze", 1, true, nil, func(t *target) { t.host.Freeze() }},
}

func node(fault func(*Node)) func(*target) { return func(t *target) { fault(t.node) } }

func host(fault func(*Host, ...*Node)) func(*target) {
	return func(t *target) { fault(t.host, t.nodes...) }
}

func below(ms int) func(*Fault, *rand.Rand) {
	return func(f *Fault, r *rand.Rand) { f.By = time.Duration(1+r.IntN(ms)) * time.Millisecond }
}

func bytes(f *Fault, r *rand.Rand) { f.N = 1 + r.IntN(200) }
func first(f *Fault, r *rand.Rand) { f.N = r.IntN(moveEach) }

func refusal(f *Fault, r *rand.Rand) {
	f.N, f.Text = 1+r.IntN(20), refusals[r.IntN(len(refusals))]
}

// refusals are errors that end by themselves.
var refusals = []string{
	"LOADING Redis is loading the dataset in memory",
	"CLUSTERDOWN The cluster is down",
	"OOM command not allowed when used memory > 'maxmemory'.",
	"BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.",
	"NOREPLICAS Not enough good replicas to write.",
}

func (t *target) failsOver(to *Node) {
	t.What = "no replica is up"
	if to != nil {
		t.What = to.Addr() + " takes over"
	}
}

// moveEach makes a move one of a hundred slots.
const moveEach = model.SlotCount / 100

func (t *target) move() {
	var slots []uint16
	for slot := t.N; slot < model.SlotCount; slot += moveEach {
		slots = append(slots, uint16(slot))
	}
	moving, finish := t.c.model.Move(slots, t.node.model)
	finish()
	t.What = fmt.Sprintf("%d slots move here", moving)
}
