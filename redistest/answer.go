package redistest

import (
	"bufio"
	"errors"
	"io"
	"strings"
	"sync"
	"time"
)

// repliesOnTheWay bounds how many commands, and how many replies, a delay may hold back on one
// connection.
const repliesOnTheWay = 4096

// answers are the replies that a link's client is owed. Those of the server pass as they come. Behind a
// SUBSCRIBE nobody counts them.
type answers struct {
	*link
	toServer, toClient chan chunk

	mu    sync.Mutex // guards what follows
	due   int        // how many commands the server has got and not answered
	ended bool       // the server's side has
	some  sync.Cond  // one of these has changed
}

// answer takes apart what comes from both sides, and answers commands in the server's place. It
// returns what goes on to each side.
func (l *link) answer(inject func([]string) string, fromClient, fromServer <-chan chunk) (toServer, toClient <-chan chunk) {
	a := &answers{
		link: l, toServer: make(chan chunk, repliesOnTheWay), toClient: make(chan chunk, repliesOnTheWay),
	}
	a.some.L = &a.mu
	l.tasks.Go(func() {
		defer close(a.toServer)
		if err := a.commands(inject, fromClient); !errors.Is(err, io.EOF) {
			l.reset()
		}
	})
	l.tasks.Go(func() {
		a.replies(fromServer)
		a.change(func() { a.ended = true })
		a.put(a.toClient, chunk{})
	})
	return a.toServer, a.toClient
}

func (a *answers) change(f func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	f()
	a.some.Broadcast()
}

var errEnded = errors.New("redistest: the connection has ended")

// commands passes commands on until the client has closed its direction, io.EOF, or the link is at
// its end.
func (a *answers) commands(inject func([]string) string, from <-chan chunk) error {
	client := newStamped(from)
	for {
		raw, args, err := readCommand(client.Reader)
		if err != nil {
			return err
		}
		reply := inject(args)
		if !a.respond(reply, raw, client.arrived()) {
			return errEnded
		}
		if reply == "" && len(args) > 0 && strings.HasSuffix(strings.ToLower(args[0]), "subscribe") {
			inject = func([]string) string { return "" }
		}
	}
}

// respond passes a command on and notes that it is due a reply, or sends the reply if there is
// one. It returns false if the connection is at its end.
func (a *answers) respond(reply string, raw []byte, arrived time.Time) bool {
	if reply == "" {
		a.change(func() { a.due++ })
		return a.put(a.toServer, chunk{raw, arrived})
	}
	there := arrived.Add(a.proxy.settings(ToServer).delay)
	return a.answered() && a.put(a.toClient, chunk{[]byte(reply), there})
}

// answered waits until the server has answered all commands that it got. It returns false if the
// server's side has ended.
func (a *answers) answered() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	for a.due > 0 && !a.ended {
		a.some.Wait()
	}
	return !a.ended
}

// replies passes replies on until the server's side or the link is at its end.
func (a *answers) replies(from <-chan chunk) {
	server := newStamped(from)
	for {
		raw, err := readReply(server.Reader, nil)
		if err != nil || !a.put(a.toClient, chunk{raw, server.arrived()}) {
			return
		}
		if raw[0] != '>' { // a push belongs to no command
			a.change(func() { a.due-- })
		}
	}
}

// A stamped reads what is in chunks, and knows when it arrived.
type stamped struct {
	*bufio.Reader
	chunks *chunkReader
}

func newStamped(from <-chan chunk) stamped {
	chunks := &chunkReader{from: from}
	return stamped{bufio.NewReaderSize(chunks, longestLine), chunks}
}

// arrived returns when the last byte arrived that was read. The Reader asks for another chunk only
// if it needs one.
func (s stamped) arrived() time.Time { return s.chunks.now.arrived }

type chunkReader struct {
	from <-chan chunk
	now  chunk // the rest of the chunk that is being read
}

func (r *chunkReader) Read(b []byte) (int, error) {
	if len(r.now.data) == 0 {
		next, ok := <-r.from
		if !ok {
			return 0, io.EOF
		}
		r.now = next
	}
	n := copy(b, r.now.data)
	r.now.data = r.now.data[n:]
	return n, nil
}
