package sim

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/redislanes/redislanes/cluster"
)

// An action is one kind of call that callers make.
type action struct {
	name   string
	weight int
	run    func(a *attempt)
}

var actions []action

func init() {
	actions = []action{
		{"pipeline", 30, (*attempt).pipeline},
		{"large pipeline", 1, (*attempt).largePipeline},
		{"values", 12, (*attempt).values},
		{"hits", 22, (*attempt).hits},
		{"command", 10, (*attempt).command},
		{"radix pipeline", 6, (*attempt).radixPipeline},
		{"script", 4, (*attempt).script},
		{transaction, 8, (*attempt).transaction},
		{"pop", 3, (*attempt).pop},
		{"push", 3, (*attempt).push},
		{"replicas", 8, (*attempt).replicas},
		{"echo", 4, (*attempt).echo},
		{"large value", 2, (*attempt).largeValue},
		{allowing, 8, (*attempt).limits},
		{"burst", 1, (*attempt).burst},
		{"once", 10, (*attempt).once},
		{"swarm", 3, (*attempt).swarm},
		{allowing, 3, (*attempt).rush},
	}
}

// An attempt is a call while it is made.
type attempt struct {
	*Call
	w   *world
	r   *rand.Rand
	ctx context.Context
}

// caller makes one call after the other until the world ends. What a call is
// depends on the seed and its number only; when it is made, on those before it.
func (w *world) caller(n int) {
	for k := 0; ; k++ {
		r := source(w.seed, ofCall, uint64(n)<<32|uint64(k))
		think := time.Duration(r.ExpFloat64() * float64(800*time.Millisecond))
		if !w.schedule.busy(w.rec.now()) {
			think += time.Duration(r.Int64N(int64(8 * time.Second)))
		}
		time.Sleep(think)
		if w.rec.now() >= length {
			return
		}
		w.call(r, (n*10_000+k)*1000, byWeight(r, actions, func(a action) int { return a.weight }))
	}
}

// call makes one call with a context of its own.
func (w *world) call(r *rand.Rand, id int, kind *action) {
	a := &attempt{Call: &Call{ID: id, Kind: kind.name, Ended: -1}, w: w, r: r}
	cancel := a.chooseContext()
	defer cancel()
	w.make(a, kind.run)
}

// make makes a call whose context is chosen.
func (w *world) make(a *attempt, run func(a *attempt)) {
	a.Began = w.rec.now()
	w.rec.note(func(h *History) { h.Calls = append(h.Calls, a.Call) })
	run(a)
	a.Ended = w.rec.now()
	w.told(a.Err)
	for i := range a.Commands {
		w.told(a.Commands[i].Err)
	}
}

// chooseContext: most contexts have a deadline, some are cancelled, some never
// end.
func (a *attempt) chooseContext() context.CancelFunc {
	now := a.w.rec.now()
	switch n := a.r.IntN(20); {
	case n < 3:
		a.ctx = context.Background()
		return func() {}
	case n < 5:
		ctx, cancel := context.WithCancel(context.Background())
		after := time.Duration(a.r.Int64N(int64(300 * time.Millisecond)))
		timer := time.AfterFunc(after, cancel)
		a.ctx, a.Limit = ctx, now+after
		return func() { timer.Stop(); cancel() }
	}
	d := oneOf[time.Duration](a.r, 50, 100, 200, 500, 1000, 2000, 5000) * time.Millisecond
	ctx, cancel := context.WithTimeout(context.Background(), d)
	a.ctx, a.Limit, a.Deadline = ctx, now+d, true
	return cancel
}

// fail notes that the whole call failed, and that it is unknown which of its
// commands were executed.
func (a *attempt) fail(err error) {
	a.Err = err
	for i := range a.Commands {
		a.Commands[i].settle("", err)
		if len(a.Commands) > 1 && a.Commands[i].Outcome != Contrary {
			a.Commands[i].Outcome = Unknown
		}
	}
}

// told looks for secrets in an error.
func (w *world) told(err error) {
	if err != nil {
		w.seen(err.Error())
	}
}

// burst is many callers at the same moment.
func (a *attempt) burst() {
	keys := oneOf(a.r, counterKeys, 1) // one of them may be hot
	a.crowd(10+a.r.IntN(40), 1, action{name: "one of a burst", run: func(b *attempt) { b.count(1+b.r.IntN(6), keys) }})
}

// swarm has several callers hit few keys nearly at the same moment. So hits wait for those
// that are under way.
func (a *attempt) swarm() {
	a.crowd(6+a.r.IntN(6), 40*time.Millisecond, action{name: "hits", run: (*attempt).hits})
}

// crowd makes so many calls within a time.
func (a *attempt) crowd(callers int, within time.Duration, kind action) {
	a.Limit = 0 // each of them has its own
	var wg sync.WaitGroup
	for i := range callers {
		after := time.Duration(a.r.Int64N(int64(within)))
		wg.Go(func() {
			time.Sleep(after)
			a.w.call(source(a.w.seed, ofCall, 1<<63|uint64(a.ID+i)), a.ID+1+i, &kind)
		})
	}
	wg.Wait()
}

// write returns a command whose text no other command has.
func write(name, key, args string) Command {
	return Command{Text: name + " " + key + " " + args, Name: name, Key: key, Slot: int(cluster.Slot(key)), Writes: true}
}

func (a *attempt) amount() int64 { return 1 + a.r.Int64N(1<<40) }

// value returns a value that says whose it is.
func (a *attempt) value(key string) string { return fmt.Sprintf("%s=%s%x", key, canary, a.r.Uint64()) }

// counterKeys is how many keys are counted with pipelines.
const counterKeys = 48

// counter returns a key that all callers count with pipelines.
func (a *attempt) counter() string { return fmt.Sprint("p:", a.r.IntN(counterKeys)) }

// own returns a key that only this caller sets; any caller's, if it is to be read.
func (a *attempt) own() string {
	return fmt.Sprintf("v:{%d.%d}", a.ID/10_000_000, a.r.IntN(6))
}

// someKey returns a key that callers use.
func someKey(r *rand.Rand, callers int) string {
	switch r.IntN(4) {
	case 0:
		return fmt.Sprint("c:", r.IntN(hitKeys))
	case 1:
		return fmt.Sprintf("v:{%d.%d}", r.IntN(callers), r.IntN(6))
	}
	return fmt.Sprint("p:", r.IntN(counterKeys))
}
