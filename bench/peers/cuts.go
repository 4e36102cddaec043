package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/redistest"

	"github.com/redislanes/redislanes/bench/table"
)

// A cutTurn is what became of one client's INCRBY when the connection that carried them was reset:
// once at each byte of all that travels in one direction while one caller sends INCRBY and EXPIRE
// for two keys, and at every seventh byte while several do. A line of a raw file.
type cutTurn struct {
	Client    string `json:"client"`
	Callers   int    `json:"callers"`
	Direction string `json:"direction"`
	Cuts      int    `json:"cuts"`     // each at a byte of its own
	Commands  int    `json:"commands"` // all that were sent
	Done      int    `json:"done"`     // without an error, or with one that says that it was executed
	Lost      int    `json:"lost"`     // of these, not executed
	Twice     int    `json:"twice"`    // executed more than once, with an error or without
	Failed    int    `json:"failed"`   // with an error
	Ran       int    `json:"ran"`      // of these, executed
	Unknown   int    `json:"unknown"`  // of these, with an error that says that the outcome is unknown
}

const (
	cutKeys     = 2 // of a request
	cutTimeout  = 2 * time.Second
	cutsAtMost  = 2_000
	cutStep     = 7 // with several callers, and of radix
	readyWithin = 10 * time.Second
	cutTTL      = time.Hour // no counter expires before it is looked at
)

var cutCallers = []int{1, 4}

// cutAll sweeps over all clients.
func (p *peers) cutAll(ctx context.Context) error {
	for _, c := range p.settings.clients {
		fmt.Fprintln(os.Stderr, c.name)
		var all []*sweep
		for _, callers := range cutCallers {
			for _, d := range []redistest.Direction{redistest.ToServer, redistest.ToClient} {
				s := &sweep{direction: d, step: 1, turn: cutTurn{Client: c.name, Callers: callers, Direction: d.String()}}
				if callers > 1 || strings.HasPrefix(c.name, "radix-") { // which takes half a second to open
					s.step = cutStep
				}
				all = append(all, s)
			}
		}
		// At the same time: no time is measured, and some clients take long to open.
		var sweeps sync.WaitGroup
		errs := make([]error, len(all))
		for i, s := range all {
			sweeps.Go(func() { errs[i] = errors.Join(s.run(ctx, c, p.target), s.count(ctx, p.value)) })
		}
		sweeps.Wait()
		if err := errors.Join(errs...); err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
		for _, s := range all {
			if err := p.note(line{Cut: &s.turn}); err != nil {
				return err
			}
		}
	}
	return nil
}

// value looks at a counter over a connection of its own.
func (p *peers) value(ctx context.Context, key string) (n int, err error) {
	err = p.servers.Nodes()[0].Do(ctx, &n, "INCRBY", key, "0")
	return n, err
}

// A sweep is cuts at one byte after the other, or at every so many.
type sweep struct {
	direction redistest.Direction
	step      int
	turn      cutTurn
	counts    []count
	closing   sync.WaitGroup
}

// run cuts at the first byte and so on until a cut comes behind all that travels.
func (s *sweep) run(ctx context.Context, c client, t target) error {
	defer s.closing.Wait()
	for at := 0; at < cutsAtMost; at += s.step {
		cut, err := s.cut(ctx, c, t, at)
		if err != nil || !cut {
			return err
		}
		s.turn.Cuts++
	}
	return fmt.Errorf("requests of %d callers were still cut behind %d bytes", s.turn.Callers, cutsAtMost)
}

// cut cuts the connection once. It reports false if all bytes had passed before. Each cut has a new client, because a client
// that was cut often waits longer before it dials again, and a new proxy, because some clients take seconds to close.
func (s *sweep) cut(ctx context.Context, c client, t target, at int) (cut bool, err error) {
	proxy, err := redistest.LaunchProxy(t.addrs[0])
	if err != nil {
		return false, err
	}
	t.dial = func(ctx context.Context, network, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, proxy.Addr())
	}
	opened, err := c.open(ctx, t)
	if err != nil {
		return false, errors.Join(err, proxy.Close())
	}
	defer s.closing.Go(func() {
		opened.close()
		_ = proxy.Close()
	})
	var send []counting // one for each caller
	for range s.turn.Callers {
		send = append(send, opened.counting(cutTTL))
		if err := ready(ctx, send[len(send)-1]); err != nil {
			return false, err
		}
	}
	ended := proxy.CutAfter(s.direction, at)
	s.requests(ctx, send, at)
	select {
	case <-ended:
		return true, nil
	default:
		return false, ctx.Err()
	}
}

// ready waits until a request is answered.
func ready(ctx context.Context, send counting) (err error) {
	ctx, cancel := context.WithTimeout(ctx, readyWithin)
	defer cancel()
	for ctx.Err() == nil {
		if err = send(ctx, []count{{key: "{ready}"}}); err == nil {
			return nil
		}
	}
	return fmt.Errorf("is not ready within %v: %w", readyWithin, err)
}

// requests lets each caller send one request for keys that nobody has used before.
func (s *sweep) requests(ctx context.Context, send []counting, at int) {
	first := len(s.counts)
	for i := range s.turn.Callers {
		for k := range cutKeys {
			s.counts = append(s.counts, count{key: fmt.Sprintf("cut:{%s-%d-%d-%d-%d}:%d", s.turn.Client, s.turn.Callers, s.direction, at, i, k)})
		}
	}
	ctx, cancel := context.WithTimeout(ctx, cutTimeout)
	defer cancel()
	var callers sync.WaitGroup
	for i, send := range send {
		from := first + i*cutKeys
		callers.Go(func() { _ = send(ctx, s.counts[from:from+cutKeys]) }) // each count has its own error
	}
	callers.Wait()
}

// count compares what the client said with the counters.
func (s *sweep) count(ctx context.Context, value func(context.Context, string) (int, error)) error {
	t := &s.turn
	for _, c := range s.counts {
		n, err := value(ctx, c.key)
		if err != nil {
			return err
		}
		t.Commands++
		if n > 1 {
			t.Twice++
		}
		if c.err == nil {
			t.Done++
			if n == 0 {
				t.Lost++
			}
			continue
		}
		t.Failed++
		if n > 0 {
			t.Ran++
			if errors.Is(c.err, redislanes.ErrUnknownOutcome) {
				t.Unknown++
			}
		}
	}
	return nil
}

// cutTable is what became of commands, client by client.
func (r *record) cutTable() *table.Table {
	t := table.New("client", "callers", "cut", "connections cut", "commands", "executed twice", "done, not executed", "failed",
		"failed, executed", "of these, said to be of unknown outcome")
	for _, c := range r.cuts {
		t.Add(c.Client, plural(c.Callers, "caller"), c.Direction, fmt.Sprint(c.Cuts), fmt.Sprint(c.Commands), fmt.Sprint(c.Twice),
			fmt.Sprint(c.Lost), fmt.Sprint(c.Failed), fmt.Sprint(c.Ran), fmt.Sprint(c.Unknown))
	}
	return t
}
