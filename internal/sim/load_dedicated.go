package sim

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/mediocregopher/radix/v4"
)

// forsaken leaves a connection that it was lent with a command under way, which
// opens a transaction or blocks: whoever is lent a connection next must not be
// inside of the one, nor wait for the other.
func (a *attempt) forsaken() {
	a.Misuse, a.Err = true, errForsaken
	if chance(a.r, 3) {
		a.abandoned()
		return
	}
	command := radix.Cmd(nil, "MULTI")
	if chance(a.r, 2) {
		command = radix.Cmd(nil, "BLPOP", "nothing", "4")
	}
	_ = a.w.client.Do(a.ctx, radix.WithConn(a.own(), func(ctx context.Context, conn radix.Conn) error {
		ctx, cancel := context.WithTimeout(ctx, a.w.settings.Latency/2)
		defer cancel()
		_ = conn.Do(ctx, command)
		return nil
	}))
}

// abandoned leaves a goroutine behind that goes on waiting.
func (a *attempt) abandoned() {
	_ = a.w.client.Do(a.ctx, radix.WithConn(a.own(), func(within context.Context, conn radix.Conn) error {
		go func() {
			ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
			defer cancel()
			_ = conn.Do(ctx, radix.Cmd(nil, "BLPOP", "nothing", "4"))
		}()
		select {
		case <-time.After(a.w.settings.Latency / 2):
		case <-within.Done():
		}
		return nil
	}))
}

var errForsaken = errors.New("nobody waited for the reply")

// blockingPipeline counts, and waits for an element that nobody appends: if the
// slot is being moved, the first may run and the second be sent elsewhere.
func (a *attempt) blockingPipeline() {
	key, by, total := a.own(), a.amount(), int64(0)
	list := "b" + key
	a.Commands = []Command{
		write("INCRBY", "n"+key, strconv.FormatInt(by, 10)), {Text: "BLMOVE " + list, Name: "BLMOVE", Key: list, Slot: -1},
	}
	p := radix.NewPipeline()
	p.Append(radix.FlatCmd(&total, "INCRBY", "n"+key, by))
	p.Append(radix.Cmd(&radix.Maybe{}, "BLMOVE", list, list, "LEFT", "RIGHT", "0.01")) // radix knows that BLPOP blocks
	a.perform(p, func() []string { return []string{strconv.FormatInt(total, 10), null} })
}
