package sim

import (
	"strconv"
	"strings"
	"time"

	"github.com/mediocregopher/radix/v4"

	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/internal/sim/model"
	"github.com/redislanes/redislanes/internal/sim/simnet"
	"github.com/redislanes/redislanes/pipeline"
)

// Scenes about slots that are on their way, and commands of one slot that depend on each
// other.
func scenesOfSlots() []scene {
	return []scene{
		{
			kind: kind{name: "pipelines alone while their slot moves", moves: true, harmless: true, gentle: true, weight: 4, least: 1500 * time.Millisecond, most: 1800 * time.Millisecond},
			fits: clustered, play: aloneWhileMoving,
		},
		{
			kind: kind{name: "a migration is given up within a pipeline", moves: true, weight: 3, least: 2 * time.Second, most: 4 * time.Second},
			fits: clustered, play: givenUpWithin,
		},
		{
			kind: kind{name: "reads among refusals", partly: true, harmless: true, brief: true, dead: true, weight: 3, least: 400 * time.Millisecond, most: time.Second},
			play: readsAmongRefusals,
		},
		{
			kind: kind{name: "scripts before others of their slot", harmless: true, gentle: true, weight: 2, least: 200 * time.Millisecond, most: time.Second},
			play: newScripts,
		},
	}
}

// clustered reports whether there are nodes between which slots can move.
func clustered(s *Settings) bool { return !s.NoCluster && s.Primaries > 1 }

// tagAt returns the hash tag of a slot that the node has, and the slot.
func (p *play) tagAt(n *model.Node, i int) (tag string, slot uint16) {
	tag = p.keyAt(n.Index(), "t", i)
	return "{" + tag + "}", cluster.Slot(tag)
}

// another returns a primary that is not the node; nil: there is none.
func (p *play) another(n *model.Node) *model.Node {
	for i := range p.w.nodes {
		other := p.w.nodes[(n.Index()+1+i)%len(p.w.nodes)]
		if other != n && p.w.model.Primary(other) == nil && other.Up() {
			return other
		}
	}
	return nil
}

// sets sets a key by a command of its own.
func (a *attempt) sets(key string) {
	value, ok := a.value(key), ""
	a.Commands = []Command{write("SET", key, value)}
	a.perform(radix.Cmd(&ok, "SET", key, value), func() []string { return []string{ok} })
}

// gets reads it.
func (a *attempt) gets(key string) {
	a.Commands = []Command{read("GET", key)}
	value := ""
	maybe := radix.Maybe{Rcv: &value}
	a.perform(radix.Cmd(&maybe, "GET", key), orNull(&maybe, &value))
}

// transacted is the kind of calls that are a transaction in one pipeline, which can be
// sent again as a whole.
const transacted = "transaction in a pipeline"

// transact counts a key twice in a transaction that is one pipeline.
func (a *attempt) transact(key string) {
	one, other := a.amount(), a.amount()
	a.Commands = []Command{write("INCRBY", key, strconv.FormatInt(one, 10)), write("INCRBY", key, strconv.FormatInt(other, 10))}
	var first, second int64
	p := radix.NewPipeline()
	p.Append(radix.Cmd(nil, "MULTI"))
	p.Append(radix.FlatCmd(nil, "INCRBY", key, one))
	p.Append(radix.FlatCmd(nil, "INCRBY", key, other))
	p.Append(radix.Cmd(&radix.Tuple{&first, &second}, "EXEC"))
	a.perform(p, func() []string { return []string{strconv.FormatInt(first, 10), strconv.FormatInt(second, 10)} })
}

// countAndBlock counts, and waits for an element of a list of the same slot that nobody
// appends to.
func (a *attempt) countAndBlock(tag string) {
	a.Blocks = true
	key, list, by, total := tag+"c", tag+"l", a.amount(), int64(0)
	a.Commands = []Command{
		write("INCRBY", key, strconv.FormatInt(by, 10)), {Text: "BLMOVE " + list, Name: "BLMOVE", Key: list, Slot: -1},
	}
	p := radix.NewPipeline()
	p.Append(radix.FlatCmd(&total, "INCRBY", key, by))
	p.Append(radix.Cmd(&radix.Maybe{}, "BLMOVE", list, list, "LEFT", "RIGHT", "0.01"))
	a.perform(p, func() []string { return []string{strconv.FormatInt(total, 10), null} })
}

// aloneWhileMoving lets pipelines that need a connection for themselves meet a slot of
// which some keys are still where it comes from, and others are not.
func aloneWhileMoving(p *play) {
	n := p.w.primary(p.f)
	to := p.another(n)
	if to == nil {
		return
	}
	for i := 0; i < 3 && p.w.rec.now() < p.f.until()-time.Second; i++ {
		tag, slot := p.tagAt(n, i)
		p.callBy("command", time.Second, func(a *attempt) {
			key, by, total := tag+"c", a.amount(), int64(0)
			a.Commands = []Command{write("INCRBY", key, strconv.FormatInt(by, 10))}
			a.perform(radix.FlatCmd(&total, "INCRBY", key, by), number(&total))
		})
		if !p.w.model.Migrate(slot, to) {
			continue
		}
		p.callBy("blocking pipeline", 5*time.Second, func(a *attempt) { a.countAndBlock(tag) })
		p.callBy(transacted, 5*time.Second, func(a *attempt) { a.transact(tag + "n") })
		p.w.model.FinishMigration(slot)
		p.callBy(transacted, 5*time.Second, func(a *attempt) { a.transact(tag + "n") })
	}
}

// givenUpWithin gives a migration up while a pipeline is on its way, over a link that is
// thin: its first command is sent to where the key has gone, and its last one runs where
// the key is again.
func givenUpWithin(p *play) {
	const bandwidth, filling, parts = 20_000, 2000, 4
	n := p.w.primary(p.f)
	to := p.another(n)
	if to == nil {
		return
	}
	defer p.impose(n, simnet.Conditions{Bandwidth: bandwidth})()
	for i := range 2 {
		tag, slot := p.tagAt(n, i)
		p.callBy("command", 5*time.Second, func(a *attempt) { a.sets(tag) })
		if !p.w.model.Migrate(slot, to) {
			continue
		}
		p.w.model.MoveKeys(slot, 1)
		var fillers []string
		for part := 0; len(fillers) < parts; part++ {
			if filler, other := p.tagAt(n, 100*(i+1)+part); other != slot { // where it is on its way, too, and followed
				fillers = append(fillers, filler)
			}
		}
		given := time.AfterFunc(time.Second*filling*parts/bandwidth/2, func() { p.w.model.AbortMigration(slot) })
		p.callBy("values", 5*time.Second, func(a *attempt) {
			a.Large = true
			pl := pipeline.New(a.w.client)
			var replies []pipeline.Reply
			set := func(key string, more int) {
				value := a.value(key) + strings.Repeat(".", more)
				a.Commands = append(a.Commands, write("SET", key, value))
				replies = append(replies, pl.Cmd("SET", key, value))
			}
			set(tag, 0)
			for _, filler := range fillers {
				set(filler, filling)
			}
			set(tag, 0)
			a.do(pl, replies)
		})
		if given.Stop() {
			p.w.model.AbortMigration(slot)
		}
	}
}

// readsAmongRefusals reads keys of one slot, between writes, in pipelines of which the
// server refuses every other command.
func readsAmongRefusals(p *play) {
	n := p.w.primary(p.f)
	tag, _ := p.tagAt(n, 0)
	p.callBy("command", time.Second, func(a *attempt) { a.sets(tag) })
	n.Flaky(2+int(p.f.With%2), oneOf(p.r, model.IsLoading, model.ClusterDown))
	defer n.Flaky(0, model.IsLoading)
	for p.w.rec.now() < p.f.until() {
		writes := chance(p.r, 3)
		p.callBy("values", 5*time.Second, func(a *attempt) {
			pl := pipeline.New(a.w.client)
			var replies []pipeline.Reply
			for i := range 6 {
				if writes && i%3 == 0 {
					value := a.value(tag)
					a.Commands = append(a.Commands, write("SET", tag, value))
					replies = append(replies, pl.Cmd("SET", tag, value))
					continue
				}
				a.Commands = append(a.Commands, read("GET", tag))
				replies = append(replies, pl.Cmd("GET", tag))
			}
			a.do(pl, replies)
		})
		time.Sleep(20 * time.Millisecond)
	}
}

// newScripts runs scripts that no server knows yet, each before another command of its
// slot.
func newScripts(p *play) {
	n := p.w.primary(p.f)
	for i := range 3 {
		tag, _ := p.tagAt(n, i)
		p.callBy("values", 5*time.Second, func(a *attempt) {
			script := pipeline.NewScript("local n = " + strconv.FormatUint(a.r.Uint64()>>16, 10) + " return redis.call('INCRBY', KEYS[1], ARGV[1])")
			pl := pipeline.New(a.w.client)
			by, value := strconv.FormatInt(a.amount(), 10), a.value(tag)
			a.Commands = []Command{write("INCRBY", tag+"n", by), write("SET", tag, value)}
			a.do(pl, []pipeline.Reply{pl.Eval(script, []string{tag + "n"}, by), pl.Cmd("SET", tag, value)})
		})
	}
}
