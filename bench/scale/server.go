package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"

	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/internal/resp"

	"github.com/redislanes/redislanes/bench/internal/child"
)

// A nullCluster is servers that own all slots and do nothing: INCRBY and EXPIRE are
// answered with 1. Each primary is said to have a replica, at which nothing listens.
type nullCluster struct {
	listeners []net.Listener
	slots     []byte   // the reply to CLUSTER SLOTS
	ids       []string // of the primaries
}

// startNull starts servers that end with the process. It returns their addresses.
func startNull(primaries int) (addrs []string, err error) {
	c := new(nullCluster)
	for i := range primaries {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		c.listeners = append(c.listeners, l)
		c.ids = append(c.ids, fmt.Sprintf("%040x", i+1))
	}
	c.slots = c.slotsReply()
	for i, l := range c.listeners {
		addrs = append(addrs, l.Addr().String())
		go c.accept(i, l)
	}
	return addrs, nil
}

func (c *nullCluster) accept(node int, l net.Listener) {
	for {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		go func() {
			s := session{cluster: c, node: node}
			_ = s.run(conn)
			_ = conn.Close()
		}()
	}
}

// linesOfCommand are those of INCRBY and EXPIRE: the header, and two for each of three elements.
const linesOfCommand = 7

var ones = bytes.Repeat([]byte(":1\r\n"), 1<<14)

// others reports whether there are other commands than those of three elements. The bytes begin with a command.
func others(in []byte) bool {
	return !bytes.HasPrefix(in, []byte("*3")) || bytes.Contains(in, []byte("\n*1")) || bytes.Contains(in, []byte("\n*2"))
}

// A session is one connection. Once it has seen INCRBY, it takes commands of three elements for
// INCRBY and EXPIRE, and counts lines. What else a client asks has one or two.
type session struct {
	cluster  *nullCluster
	node     int
	counting bool
}

func (s *session) run(conn io.ReadWriter) error {
	buf, have := make([]byte, 256<<10), 0
	for {
		n, err := conn.Read(buf[have:])
		if err != nil {
			return err
		}
		have += n
		took, err := s.answer(conn, buf[:have])
		if err != nil {
			return err
		}
		have = copy(buf, buf[took:have])
		if have == len(buf) {
			return errors.New("a command does not fit")
		}
	}
}

// answer replies to the whole commands, and returns how many bytes they are.
func (s *session) answer(to io.Writer, in []byte) (took int, err error) {
	if s.counting && !others(in) {
		commands, took := countCommands(in)
		for ; commands > 0 && err == nil; commands -= len(ones) / 4 {
			_, err = to.Write(ones[:min(4*commands, len(ones))])
		}
		return took, err
	}
	framer := resp.NewFramer(resp.DefaultMaxReply)
	for took < len(in) {
		n, done, err := framer.Next(in[took:])
		if err != nil {
			return took, err
		}
		if !done {
			return took, nil
		}
		if _, err := to.Write(s.reply(in[took : took+n])); err != nil {
			return took, err
		}
		took += n
	}
	return took, nil
}

// countCommands returns how many whole commands there are, and their bytes.
func countCommands(in []byte) (commands, took int) {
	lines := bytes.Count(in, []byte{'\n'})
	took = len(in)
	if rest := in[bytes.LastIndexByte(in, '\n')+1:]; len(rest) > 0 {
		took -= len(rest)
	}
	for range lines % linesOfCommand {
		took = bytes.LastIndexByte(in[:took-1], '\n') + 1
	}
	return lines / linesOfCommand, took
}

// reply answers one command.
func (s *session) reply(command []byte) []byte {
	args := resp.ArgsOf(command)
	first, _ := args.Next()
	second, _ := args.Next()
	switch name := strings.ToUpper(string(first)); name {
	case "INCRBY", "EXPIRE":
		s.counting = true
		return []byte(":1\r\n")
	case "PING":
		return []byte("+PONG\r\n")
	case "CLIENT", "READWRITE", "READONLY":
		return []byte("+OK\r\n")
	case "CLUSTER":
		switch strings.ToUpper(string(second)) {
		case "MYID":
			return bulk(s.cluster.ids[s.node])
		case "SLOTS":
			return s.cluster.slots
		case "NODES":
			return bulk(s.cluster.nodes(s.node))
		}
	}
	return []byte("-ERR unknown command\r\n")
}

func bulk(text string) []byte { return []byte("$" + strconv.Itoa(len(text)) + "\r\n" + text + "\r\n") }

func (c *nullCluster) slotsOf(node int) (first, last int) {
	n := len(c.listeners)
	return node * cluster.SlotCount / n, (node+1)*cluster.SlotCount/n - 1
}

// replicaID and replicaPort are those of a primary's replica, which is nowhere.
func replicaID(node int) string { return fmt.Sprintf("%040x", 1<<20+node) }

const replicaPort = 1

func (c *nullCluster) slotsReply() []byte {
	text := fmt.Sprintf("*%d\r\n", len(c.listeners))
	for i, l := range c.listeners {
		first, last := c.slotsOf(i)
		text += fmt.Sprintf("*4\r\n:%d\r\n:%d\r\n", first, last)
		text += fmt.Sprintf("*4\r\n$9\r\n127.0.0.1\r\n:%d\r\n$40\r\n%s\r\n*0\r\n", l.Addr().(*net.TCPAddr).Port, c.ids[i])
		text += fmt.Sprintf("*4\r\n$9\r\n127.0.0.1\r\n:%d\r\n$40\r\n%s\r\n*0\r\n", replicaPort, replicaID(i))
	}
	return []byte(text)
}

func (c *nullCluster) nodes(myself int) string {
	var text strings.Builder
	for i, l := range c.listeners {
		first, last := c.slotsOf(i)
		flags := "master"
		if i == myself {
			flags = "myself,master"
		}
		port := l.Addr().(*net.TCPAddr).Port
		fmt.Fprintf(&text, "%s 127.0.0.1:%d@%d %s - 0 0 %d connected %d-%d\n", c.ids[i], port, port+1, flags, i+1, first, last)
		fmt.Fprintf(&text, "%s 127.0.0.1:%d@%d slave %s 0 0 %d connected\n", replicaID(i), replicaPort, replicaPort, c.ids[i], i+1)
	}
	return text.String()
}

// nullServers are servers in a process of their own. Its task is how many, its answer where they are.
var nullServers = child.NewRole("servers without work", startNull)

// withServers calls f with the addresses of servers in a process of their own.
func withServers(ctx context.Context, primaries int, f func(addrs []string) error) error {
	process, addrs, err := nullServers.Start(ctx, primaries)
	if err != nil {
		return err
	}
	return errors.Join(f(addrs), process.Close())
}
