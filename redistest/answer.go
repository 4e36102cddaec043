package redistest

import (
	"bufio"
	"errors"
	"io"
	"net"
	"sync"
	"time"
)

// answers are the replies that a link's client is owed. Those of the server pass as they come:
// messages of channels belong to no command.
type answers struct {
	*link
	sending sync.Mutex // held while a reply is sent to the client

	mu    sync.Mutex // guards what follows
	due   int        // commands that the server has not answered
	ended bool
	some  sync.Cond // one of these has changed
}

// answer carries commands and replies, and answers commands in the server's place.
func (l *link) answer(inject func([]string) string) {
	a := &answers{link: l}
	a.some.L = &a.mu
	var server sync.WaitGroup
	server.Go(func() {
		a.replies()
		a.change(func() { a.ended = true })
		l.closeWrite(ToClient)
	})
	if err := a.commands(inject); errors.Is(err, io.EOF) {
		l.closeWrite(ToServer)
	} else {
		l.reset()
	}
	server.Wait()
	l.reset()
}

func (a *answers) change(f func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	f()
	a.some.Broadcast()
}

// commands carries commands to the server until the client has closed its direction, io.EOF, or
// the link is at its end.
func (a *answers) commands(inject func([]string) string) error {
	client := bufio.NewReader(a.client)
	for {
		raw, args, err := readCommand(client)
		if err != nil {
			return err
		}
		reply := inject(args)
		if reply == "" {
			a.change(func() { a.due++ })
			if !a.send(ToServer, chunk{raw, time.Now()}) {
				return net.ErrClosed
			}
			continue
		}
		if a.answered(); !a.reply([]byte(reply)) {
			return net.ErrClosed
		}
	}
}

// answered waits until the server has answered all commands that it got.
func (a *answers) answered() {
	a.mu.Lock()
	defer a.mu.Unlock()
	for a.due > 0 && !a.ended {
		a.some.Wait()
	}
}

// replies carries what the server sends until the link is at its end.
func (a *answers) replies() {
	server := bufio.NewReader(a.server)
	for {
		raw, err := readReply(server, nil)
		if err != nil || !a.reply(raw) {
			return
		}
		if raw[0] != '>' {
			a.change(func() { a.due = max(a.due-1, 0) })
		}
	}
}

func (a *answers) reply(raw []byte) bool {
	a.sending.Lock()
	defer a.sending.Unlock()
	return a.send(ToClient, chunk{raw, time.Now()})
}
