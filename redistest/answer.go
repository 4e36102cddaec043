package redistest

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"slices"
	"strings"
	"sync"
	"time"
)

// repliesOnTheWay bounds how many commands, and how many replies, a delay may hold back on one
// connection.
const repliesOnTheWay = 4096

// answers are the replies that a link's client is owed. Those of the server pass as they come:
// messages of channels belong to no command.
type answers struct {
	*link
	toServer, toClient chan chunk

	mu    sync.Mutex // guards what follows
	due   []int      // replies that the server owes to each command, the oldest first
	ended bool       // the server's side has
	some  sync.Cond  // one of these has changed

	subscribed bool // over RESP2, where messages look like replies; of the goroutine that reads replies
}

// answer takes apart what comes from both sides, and answers commands in the server's place. It
// returns what goes on to each side.
func (l *link) answer(inject func([]string) string, fromClient, fromServer <-chan chunk) (toServer, toClient <-chan chunk) {
	a := &answers{link: l, toServer: make(chan chunk, repliesOnTheWay), toClient: make(chan chunk, repliesOnTheWay)}
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
		if !a.respond(inject(args), raw, repliesTo(args), client.arrived()) {
			return errEnded
		}
	}
}

// respond passes a command on, to which the server will send so many replies, or the reply if there
// is one. It returns false if the connection is at its end.
func (a *answers) respond(reply string, raw []byte, replies int, arrived time.Time) bool {
	if reply == "" {
		a.change(func() { a.due = append(a.due, replies) })
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
	for len(a.due) > 0 && !a.ended {
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
		if a.isReply(raw) {
			a.change(func() { a.due = replied(a.due, raw[0] == '-') })
		}
	}
}

// confirms holds the commands that have a reply for each of their channels, and the first elements of
// these replies.
var confirms = []string{"subscribe", "unsubscribe", "psubscribe", "punsubscribe", "ssubscribe", "sunsubscribe"}

// repliesTo returns how many replies the command will have.
func repliesTo(command []string) int {
	if len(command) > 1 && slices.Contains(confirms, strings.ToLower(command[0])) {
		return len(command) - 1
	}
	return 1
}

// replied returns what is due after one more reply. An error answers all of a command.
func replied(due []int, failed bool) []int {
	if len(due) == 0 {
		return due
	}
	if due[0]--; failed || due[0] <= 0 {
		return due[1:]
	}
	return due
}

// isReply reports whether what the server has sent belongs to a command. Over RESP3, confirmations are
// the only pushes that do.
func (a *answers) isReply(raw []byte) bool {
	first := ""
	if lines := strings.SplitN(string(raw[:min(len(raw), 64)]), "\r\n", 4); len(lines) == 4 {
		first = lines[2]
	}
	switch {
	case slices.Contains(confirms, first):
		a.subscribed = raw[0] == '*' && !bytes.HasSuffix(raw, []byte("\r\n:0\r\n"))
	case raw[0] == '>':
		return false
	case raw[0] == '*' && a.subscribed:
		return !strings.HasSuffix(first, "message")
	}
	return true
}

// A stamped reads what is in chunks, and knows when it arrived.
type stamped struct {
	*bufio.Reader
	chunks *chunkReader
}

func newStamped(from <-chan chunk) stamped {
	chunks := &chunkReader{from: from}
	return stamped{bufio.NewReader(chunks), chunks}
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
