package sim

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/internal/sim/model"
	"github.com/redislanes/redislanes/internal/sim/simnet"
	"github.com/redislanes/redislanes/limit"
	"github.com/redislanes/redislanes/pipeline"
)

const (
	// patience is how long calls that began within a world's life may take.
	patience = 60 * time.Second

	// asksEvery is how often the client is asked whose slots are, though nothing has moved.
	asksEvery = 4 * time.Second

	us = "client" // the dialler's name in the network
)

// A world is a cluster, a network and a client with its users, in the virtual
// time of a bubble.
type world struct {
	seed     uint64
	settings Settings
	schedule Schedule
	rec      recorder

	net      *simnet.Network
	model    *model.Cluster
	nodes    []*model.Node
	hosts    []atomic.Pointer[simnet.Host] // of the nodes
	addrs    []string
	user     user
	client   *cluster.Client
	counters *pipeline.Counters
	limiter  *limit.Limiter
	limits   []*limit.Limit
	called   chan struct{} // closed when the callers have ended

	mapMu    sync.Mutex
	believed map[uint16]string // whose a slot is, as the client said last
}

// live makes the world of a seed, without the faults that are not among the
// given ones, and returns its history. It is called in a bubble.
func live(seed uint64, settings Settings, schedule Schedule) *History {
	w := &world{seed: seed, settings: settings, schedule: schedule}
	w.rec.begin()
	w.rec.h.Faults = slices.Clone(schedule.Faults)
	w.rec.h.Terms = settings.Terms
	w.build()
	defer w.net.Close()
	if err := w.connect(); err != nil {
		w.unexpected("New: %v", err)
		return &w.rec.h
	}
	w.run()
	w.end()
	return &w.rec.h
}

// unexpected notes what the world did not plan.
func (w *world) unexpected(format string, args ...any) {
	w.rec.note(func(h *History) { h.Panicked = append(h.Panicked, fmt.Sprintf(format, args...)) })
}

// closes notes the error of a Close, which must not fail.
func (w *world) closes(what string, err error) {
	if err != nil {
		w.unexpected("closing the %s: %v", what, err)
	}
}

// seen looks for secrets in a text that the client made.
func (w *world) seen(text string) {
	if Trace {
		fmt.Printf("%.6fs %s\n", w.rec.now().Seconds(), text)
	}
	if strings.Contains(text, canary) {
		w.rec.note(func(h *History) { h.Texts = append(h.Texts, text) })
	}
}

// build makes the network and the servers.
func (w *world) build() {
	w.net = simnet.New(derived(w.seed, ofNetwork))
	w.net.Impose("", "", simnet.Conditions{Latency: w.settings.Latency, Jitter: w.settings.Jitter})
	options := model.Options{
		Seed: derived(w.seed, ofModel), Primaries: w.settings.Primaries, Replicas: w.settings.Replicas, Epoch: 100,
		Unnamed: w.settings.Unnamed, Executed: w.executed, Server: w.settings.Server,
	}
	if w.settings.OneHost {
		options.Addr = func(i int) string { return fmt.Sprintf("10.0.0.1:%d", 7001+i) }
	}
	options.NoCluster = w.settings.NoCluster
	if w.settings.Sentinels {
		options.Sentinels = sentinelAddrs
	}
	w.model = model.New(options)
	w.model.ReplicationLag(usualLag)
	w.model.GossipLag(usualGossip)
	w.nodes = w.model.Nodes()
	w.hosts = make([]atomic.Pointer[simnet.Host], len(w.nodes))
	for _, n := range w.nodes {
		w.listen(n)
		w.addrs = append(w.addrs, w.reached(n))
	}
	w.listenSentinels()
	if w.settings.Password {
		for _, n := range w.nodes {
			n.RequirePass("", password, true)
		}
	}
}

// executed notes what has taken effect on a primary.
func (w *world) executed(e model.Execution) {
	if e.Replica || len(e.Args) < 3 || len(e.Reply) == 0 || e.Reply[0] == '-' {
		return
	}
	switch strings.ToUpper(string(e.Args[0])) {
	case "SET", "MSET", "INCRBY", "INCREX", "EXPIRE", "PEXPIRE", "RPUSH":
	default:
		return
	}
	x := Execution{
		At: w.rec.at(e.At), Node: w.reached(e.Node), Conn: e.Conn, Text: textOf(e.Args), Key: string(e.Args[1]), Reply: plain(e.Reply),
	}
	w.rec.note(func(h *History) {
		h.Log = append(h.Log, x)
		if e.Foreign {
			h.Foreign = append(h.Foreign, x)
		}
	})
}

// textOf returns a command as text.
func textOf(args [][]byte) string {
	text := strings.ToUpper(string(args[0]))
	for _, arg := range args[1:] {
		text += " " + string(arg)
	}
	return text
}

// plain is an encoded reply of one element as text.
func plain(reply []byte) string {
	switch reply[0] {
	case '$':
		_, after, _ := strings.Cut(string(reply), "\r\n")
		return strings.TrimSuffix(after, "\r\n")
	case '+', ':':
		return string(reply[1 : len(reply)-2])
	}
	return string(reply)
}

// connect makes the client.
func (w *world) connect() error {
	c := w.settings.Config
	w.user.moved, w.user.seen, w.user.nat = w.askMap, w.seen, w.settings.NAT
	c.Dialer.NetDial = w.net.TimelessDialer(us)
	if w.settings.KeepsDeadlines {
		c.Dialer.NetDial = w.net.Dialer(us)
	}
	if !w.settings.Unset {
		c.Trace, c.Logger, c.AddrMap = w.user.trace(), slog.New(&w.user), w.user.addrMap
	}
	if w.settings.Password {
		c.Dialer.Credentials = credentials
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	w.useSentinels(&c)
	client, err := c.New(ctx, w.seeds())
	if err != nil {
		return err
	}
	w.believed = slotsOfLoad()
	w.client, w.counters = client, w.settings.Counters.New(client)
	w.user.client.Store(client)
	return w.makeLimiter()
}

// seeds returns the addresses that the client is told, of which the first may be
// nobody's.
func (w *world) seeds() []string {
	addrs := slices.Clone(w.addrs)
	switch {
	case w.settings.Sentinels:
		addrs = w.reachedSentinels()
	case w.settings.NoCluster:
		slices.Reverse(addrs) // replicas first
	}
	if w.settings.DeadSeed {
		return append([]string{nobody + "6379"}, addrs...)
	}
	return addrs
}

// run lets the callers call, and the faults happen.
func (w *world) run() {
	var callers, others sync.WaitGroup
	for n := range w.settings.Callers {
		callers.Go(func() { w.caller(n) })
	}
	for _, f := range w.schedule.Faults {
		others.Go(func() { w.happen(f) })
	}
	stop := make(chan struct{})
	others.Go(func() { w.watchMap(stop) })
	w.called = make(chan struct{})
	go func() { callers.Wait(); close(w.called) }()
	select {
	case <-w.called:
	case <-time.After(length + patience):
	}
	time.Sleep(healing)
	close(stop)
	others.Wait()
}

// happen lets a fault begin and end.
func (w *world) happen(f Fault) {
	time.Sleep(f.At - w.rec.now())
	end := f.begin(w, f)
	time.Sleep(f.until() - w.rec.now())
	end()
}

// end gathers the rest of the truth, and closes everything.
func (w *world) end() {
	w.truth()
	w.live()
	w.closes("limiter", w.limiter.Close())
	w.closes("counters", w.counters.Close())
	w.closes("client", w.client.Close())
	time.Sleep(healing)
	select {
	case <-w.called:
	case <-time.After(patience): // some call has not returned
	}
	left := w.net.Open("")
	w.rec.note(func(h *History) { h.Left = left })
}

// watchMap asks the client for its map now and then.
func (w *world) watchMap(stop <-chan struct{}) {
	tick := time.NewTicker(asksEvery)
	defer tick.Stop()
	for {
		select {
		case <-stop:
			return
		case <-tick.C:
			w.askMap()
		}
	}
}

// truth notes what has become of the keys.
func (w *world) truth() {
	w.rec.note(func(h *History) {
		h.Lost, h.LastLost = make(map[string]bool), make(map[string]time.Duration)
		for i := range h.Log {
			key := h.Log[i].Key
			if at := w.model.Lost(key); !at.IsZero() {
				h.Lost[key], h.LastLost[key] = true, w.rec.at(at)
			}
		}
		h.TTLs = make(map[string]TTL)
		_ = h.each(func(c *Call, i int) string {
			cmd := &c.Commands[i]
			if _, known := h.TTLs[cmd.Key]; cmd.Name != hit || known {
				return ""
			}
			_, exists := w.model.Value(cmd.Key)
			left, ok := w.model.TTL(cmd.Key)
			if !ok {
				left = -1
			}
			h.TTLs[cmd.Key] = TTL{Exists: exists, Left: left}
			return ""
		})
	})
}
