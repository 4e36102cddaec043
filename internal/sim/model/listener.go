package model

import (
	"fmt"
	"net"
	"slices"
)

// A listener is a connection to a Sentinel, which may subscribe to what happens.
type listener struct {
	reply    // to the command that runs
	out      output
	channels []string
	patterns []string
}

// Serve serves a connection, and closes it.
func (s *Sentinel) Serve(conn net.Conn) {
	defer conn.Close()
	l := &listener{reply: reply{resp: 2}}
	l.out.conn, l.out.idle.L = conn, &l.out.mu
	defer s.leave(l)
	var in parser
	for {
		args, err := in.next()
		switch {
		case err != nil:
			return
		case args == nil:
			n, err := conn.Read(in.room())
			if err != nil {
				return
			}
			in.grew(n)
		case len(args) > 0:
			s.serve(l, args)
		}
	}
}

func (s *Sentinel) serve(l *listener, args [][]byte) {
	s.c.mu.Lock()
	l.b = l.b[:0]
	s.answer(l, args)
	mine := l.out.begin(l.b, false)
	s.c.mu.Unlock()
	if mine {
		l.out.run(l.b)
	}
}

// subscribe is SUBSCRIBE and PSUBSCRIBE, and what ends them.
func (s *Sentinel) subscribe(l *listener, name string, to *[]string, words [][]byte, on bool) {
	if !on && len(words) == 0 {
		for _, channel := range *to {
			words = append(words, []byte(channel))
		}
	}
	if len(words) == 0 && on {
		l.errorf("ERR wrong number of arguments for '%s' command", name)
		return
	}
	for _, word := range words {
		*to = slices.DeleteFunc(*to, func(channel string) bool { return channel == string(word) })
		if on {
			*to = append(*to, string(word))
		}
		l.confirm(name, word)
	}
	if len(words) == 0 {
		l.confirm(name, nil)
	}
	s.listeners = slices.DeleteFunc(s.listeners, func(other *listener) bool { return other == l })
	if l.subscribed() {
		s.listeners = append(s.listeners, l)
	}
}

func (l *listener) subscribed() bool { return len(l.channels)+len(l.patterns) > 0 }

// confirm tells that one is subscribed to a channel, or is not any more.
func (l *listener) confirm(name string, channel []byte) {
	l.push(3)
	l.bulkString(name)
	if channel == nil {
		l.null()
	} else {
		l.bulk(channel)
	}
	l.int(int64(len(l.channels) + len(l.patterns)))
}

func (s *Sentinel) leave(l *listener) {
	s.c.mu.Lock()
	s.listeners = slices.DeleteFunc(s.listeners, func(other *listener) bool { return other == l })
	s.c.mu.Unlock()
	l.out.drain()
}

// switched tells the listeners that there is another primary.
func (s *Sentinel) switched(from, to *Node) {
	const channel = "+switch-master"
	text := fmt.Sprintf("%s %s %d %s %d", SentinelPrimary, from.host, from.port, to.host, to.port)
	for _, l := range s.listeners {
		if slices.Contains(l.channels, channel) {
			l.tell("message", channel, text)
		}
		for _, pattern := range l.patterns {
			if globs(pattern, channel) {
				l.tell("pmessage", pattern, channel, text)
			}
		}
	}
}

func (l *listener) tell(words ...string) {
	message := reply{resp: l.resp}
	message.push(len(words))
	for _, word := range words {
		message.bulkString(word)
	}
	l.out.deliver(message.b)
}

// hello is HELLO of a Sentinel, without its options.
func (s *Sentinel) hello(l *listener, args [][]byte) {
	if len(args) > 1 {
		version, ok := parseInt(args[1])
		switch {
		case !ok:
			l.err("ERR Protocol version is not an integer or out of range")
			return
		case version != 2 && version != 3:
			l.err("NOPROTO unsupported protocol version")
			return
		}
		l.resp = int(version)
	}
	d := s.c.dialect()
	l.mapOf(6)
	for _, word := range []string{"server", d.name, "version", d.version, "proto"} {
		l.bulkString(word)
	}
	l.int(int64(l.resp))
	l.bulkString("id")
	l.int(1)
	l.bulkString("mode")
	l.bulkString("sentinel")
	l.bulkString("modules")
	l.array(0)
}

func (l *listener) ping(args [][]byte) {
	word := []byte{}
	if len(args) > 1 {
		word = args[1]
	}
	switch {
	case l.subscribed() && l.resp == 2:
		l.array(2)
		l.bulkString("pong")
		l.bulk(word)
	case len(args) > 1:
		l.bulk(word)
	default:
		l.status("PONG")
	}
}
