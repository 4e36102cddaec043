package migrate

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/mediocregopher/radix/v4"
	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/cluster"
)

// blocking waits for elements: until they come, until the server's timeout, and until the
// context's end.
func blocking(p *program) {
	var popped []string
	none := radix.Maybe{Rcv: &popped}
	p.saw("the timeout", told(p.client.Do(p.ctx, radix.Cmd(&none, "BLPOP", "{l}a", "{l}b", "0.05"))), none.Null)
	p.do(radix.Cmd(nil, "RPUSH", "{l}b", "1"))
	p.saw("at once", told(p.client.Do(p.ctx, radix.Cmd(&popped, "BLPOP", "{l}a", "{l}b", "1"))), popped)

	got := make(chan string, 1)
	go func() {
		var popped []string
		err := p.client.Do(p.ctx, radix.Cmd(&popped, "BRPOP", "{l}a", "10"))
		got <- fmt.Sprint(popped, told(err))
	}()
	p.do(radix.Cmd(nil, "SET", "{l}beside", "x"))
	p.do(radix.Cmd(nil, "RPUSH", "{l}a", "2"))
	p.saw("later", <-got)

	ctx, cancel := context.WithTimeout(p.ctx, 50*time.Millisecond)
	defer cancel()
	began := time.Now()
	p.saw("a deadline", told(p.client.Do(ctx, radix.Cmd(&popped, "BLPOP", "{l}a", "0"))))
	require.Less(p, time.Since(began), 5*time.Second)
	canceled, cancel := context.WithCancel(p.ctx)
	time.AfterFunc(50*time.Millisecond, cancel)
	p.saw("a canceled context", told(p.client.Do(canceled, radix.Cmd(&popped, "BLPOP", "{l}a", "0"))))
	var pong string
	p.saw("the client goes on", told(p.client.Do(p.ctx, radix.Cmd(&pong, "PING"))), pong)

	var n int
	p.differs("WAIT", told(p.client.Do(p.ctx, radix.Cmd(&n, "WAIT", "0", "10"))), "no error", "another error")
	p.saw("WAIT inside WithConn", told(p.client.Do(p.ctx, radix.WithConn("{l}c", func(ctx context.Context, conn radix.Conn) error {
		return conn.Do(ctx, radix.Cmd(&n, "WAIT", "0", "10"))
	}))))
	var moved string
	p.do(radix.Cmd(nil, "RPUSH", "{l}a", "3"))
	p.saw("BRPOPLPUSH", told(p.client.Do(p.ctx, radix.Cmd(&moved, "BRPOPLPUSH", "{l}a", "{l}c", "1"))), moved)
}

// contexts ends calls by their contexts, before them and while they run.
func contexts(p *program) {
	over, cancel := context.WithCancel(p.ctx)
	cancel()
	late, cancel := context.WithDeadline(p.ctx, time.Now().Add(-time.Second))
	defer cancel()
	for _, ctx := range []context.Context{over, late} {
		err := p.client.Do(ctx, radix.Cmd(nil, "INCR", "k"))
		p.saw("over", errors.Is(err, ctx.Err()))
	}
	p.do(radix.Cmd(nil, "SET", "k", "1"))
	owner, err := p.servers.Owner(p.ctx, cluster.Slot("k"))
	require.NoError(p, err)
	server, err := radix.Dial(p.ctx, "tcp", owner.Addr())
	require.NoError(p, err)
	defer server.Close()
	for _, action := range []radix.Action{
		radix.Cmd(nil, "INCR", "k"),
		radix.WithConn("k", func(ctx context.Context, conn radix.Conn) error {
			return conn.Do(ctx, radix.Cmd(nil, "INCR", "k"))
		}),
	} {
		require.NoError(p, server.Do(p.ctx, radix.Cmd(nil, "CLIENT", "PAUSE", "60000", "WRITE")))
		ctx, cancel := context.WithTimeout(p.ctx, 50*time.Millisecond)
		p.saw("at a deadline", told(p.client.Do(ctx, action)))
		cancel()
		require.NoError(p, server.Do(p.ctx, radix.Cmd(nil, "CLIENT", "UNPAUSE")))
	}
	p.saw("the client goes on", told(p.client.Do(p.ctx, radix.Cmd(nil, "SET", "k", "1"))))
}

// blocked returns the connections of which a server has blocked the client, those of
// earlier programs among them: radix leaves such a connection open.
func (p *program) blocked() map[string]bool {
	p.Helper()
	all := make(map[string]bool)
	for _, n := range p.servers.Nodes() {
		var list string
		require.NoError(p, n.Do(p.ctx, &list, "CLIENT", "LIST"))
		for line := range strings.Lines(list) {
			id, rest, _ := strings.Cut(line, " ")
			if _, flags, _ := strings.Cut(rest, " flags="); strings.HasPrefix(flags, "b") {
				all[n.Addr()+" "+id] = true
			}
		}
	}
	return all
}

// afterClose uses a client that is closed.
func afterClose(p *program) {
	p.do(radix.Cmd(nil, "PING"))
	before, waits := p.blocked(), make(chan error, 1)
	ctx, cancel := context.WithTimeout(p.ctx, 3*time.Second)
	defer cancel()
	go func() { waits <- p.client.Do(ctx, radix.Cmd(nil, "BLPOP", "absent", "0")) }()
	for waiting := false; !waiting; {
		for id := range p.blocked() {
			waiting = waiting || !before[id]
		}
	}
	p.saw("Close", told(p.client.Close()))
	p.differs("BLPOP at Close", told(<-waits), "deadline exceeded, the connection is usable", "another error")
	var n int
	err := p.client.Do(p.ctx, radix.Cmd(&n, "INCR", "k"))
	p.saw("Do", told(err))
	p.saw("DoSecondary", told(p.client.DoSecondary(p.ctx, radix.Cmd(nil, "GET", "k"))))
	_, failed := p.client.Clients()
	p.saw("Clients", told(failed))
	p.differs("Close again", told(p.client.Close()), "another error", "no error")
	if p.ours {
		require.ErrorIs(p, err, redislanes.ErrClosed)
	}
}
