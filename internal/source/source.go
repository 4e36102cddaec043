// Package source asks servers for the map of the slots: nodes of a [Cluster], a [Sentinel], or one
// [Server] that is not asked. It does not decide which map to use; [slots.Poll] does.
package source

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/redislanes/redislanes/internal/guard"
	"github.com/redislanes/redislanes/internal/resp"
	"github.com/redislanes/redislanes/internal/slots"
	"github.com/redislanes/redislanes/internal/wire"
	"github.com/redislanes/redislanes/lanes"
)

// A Source asks servers for maps of the slots. Many goroutines may use it at the same time.
type Source interface {
	// Ask asks the server at the address. open is a connection to it, or nil: then Ask dials one.
	// use is the map in use, nil at the first contact.
	Ask(ctx context.Context, addr string, open wire.Submitter, use *slots.Map) (slots.Answer, error)

	// Purpose returns what the handshake with a node asks, for commands to a primary or a replica.
	// admit decides by the reply.
	Purpose(replica bool, admit func(addr string, reply []byte) error) wire.Purpose

	// Translate returns the address to dial for one that a server names, see [Nodes.Translate].
	Translate(addr string) (to string, err error)
}

// Nodes are the settings for the nodes of a map.
type Nodes struct {
	Dialer  lanes.Dialer
	AddrMap func(addr string) string // nil: addresses are dialled as servers tell them
	Near    func(addr, zone string) bool
}

// NewNodes returns the settings, without a password that fmt could print.
func NewNodes(d lanes.Dialer, addrMap func(string) string, near func(addr, zone string) bool) Nodes {
	return Nodes{Dialer: wire.Sealed(d), AddrMap: addrMap, Near: near}
}

// The limits of the package.
const (
	// openTime is how long the map is asked for over a connection that others use. Then Ask dials.
	openTime = 500 * time.Millisecond

	// maxMap bounds the replies to the questions for a map. 16,384 ranges of one slot, with a primary and nine
	// replicas each that have long host names, have about 50 MiB.
	maxMap = 64 << 20

	// maxInstances bounds the replicas or Sentinels that a Sentinel tells of, and maxFields their
	// fields; Redis 8 has about 40.
	maxInstances = 1024
	maxFields    = 128
)

// ask sends the questions over the open connection or, if there is none or it does not answer soon, over
// one of its own.
func ask(ctx context.Context, d lanes.Dialer, purpose wire.Purpose, addr string, open wire.Submitter, questions ...[]string) ([][]byte, error) {
	if open != nil {
		soon, cancel := context.WithTimeout(ctx, openTime)
		defer cancel()
		if replies, err := exchange(soon, open, questions); err == nil || ctx.Err() != nil {
			return replies, err
		}
	}
	d = wire.WithDefaults(d)
	d.MaxReply = min(d.MaxReply, maxMap)
	lane, err := wire.DialFor(ctx, d, purpose, addr, wire.Owner{})
	if err != nil {
		return nil, err
	}
	defer func() { _ = lane.Close() }()
	ctx, cancel := context.WithTimeout(ctx, d.Timeout)
	defer cancel()
	return exchange(ctx, lane, questions)
}

func exchange(ctx context.Context, to wire.Submitter, questions [][]string) ([][]byte, error) {
	batch := wire.Ask(ctx, to, questions...)
	replies := make([][]byte, len(questions))
	for i := range replies {
		var err error
		if replies[i], err = batch.Reply(i); err != nil {
			return nil, err
		}
	}
	return replies, nil
}

// Translate returns the address to dial for one that a server names. AddrMap, a user's function, may have
// none, or panic. What it returns may hold a password, which the error does not show.
func (n Nodes) Translate(addr string) (to string, err error) {
	if n.AddrMap == nil {
		return addr, nil
	}
	defer guard.Catch("Config.AddrMap", &err)
	if to = n.AddrMap(addr); to != addr && CheckAddr(to) != nil {
		return "", fmt.Errorf("Config.AddrMap has no address for %s", slots.Printable(addr))
	}
	return to, nil
}

// place translates the addresses of nodes that a server has told, and notes which of the nodes are near. A node
// without an address is left out, and with a primary its slots. Each node is looked at once, although it may
// be in thousands of ranges. The error is a panic in Near, a user's function.
func (n Nodes) place(ranges []slots.Range) (skips []slots.Skip, err error) {
	defer guard.Catch("Config.Near", &err)
	type found struct {
		slots.NodeAddr
		err error
	}
	known := make(map[slots.NodeAddr]found)
	for k := range ranges {
		r := &ranges[k]
		usable := r.Nodes[:0]
		for i, node := range r.Nodes {
			f, ok := known[node]
			if !ok {
				f.NodeAddr = node
				if !node.Dialled {
					f.Addr, f.err = n.Translate(node.Addr)
				}
				f.Near = f.err == nil && n.Near != nil && n.Near(f.Addr, node.Zone)
				known[node] = f
			}
			if f.err == nil {
				usable = append(usable, f.NodeAddr)
			} else if i == 0 {
				skips = append(skips, slots.Skip{First: r.First, Last: r.Last, Why: f.err.Error()})
				break // a replica must not be taken for the primary
			}
		}
		r.Nodes = usable
	}
	return skips, nil
}

// CheckAddr returns why the address, host:port or the path of a unix socket, cannot be dialled.
func CheckAddr(addr string) error {
	if err := wire.CheckAddr(addr); err != nil || wire.IsPath(addr) {
		return err
	}
	host, port, err := net.SplitHostPort(addr)
	var wrong *net.AddrError
	switch n, bad := strconv.ParseUint(port, 10, 16); {
	case errors.As(err, &wrong):
		return fmt.Errorf("want host:port: %s", wrong.Err)
	case err != nil:
		return fmt.Errorf("want host:port: %w", err)
	case strings.ContainsFunc(addr, unicode.IsSpace):
		return errors.New("want host:port: there is a blank in it")
	case bad != nil || n == 0:
		return fmt.Errorf("port %q: want a number from 1 to 65535", port)
	case host == "":
		return errors.New("want host:port: the host is empty")
	}
	return nil
}

// refusedForNow reports whether the reply to a question is an error that is likely to end soon.
func refusedForNow(reply []byte) bool {
	return resp.IsError(reply) && fateOf(reply).Passes()
}

// refusal is the error of a question that a server has refused.
func refusal(command, addr string, reply []byte) error {
	return wire.Named(command, addr, wire.ReplyError(reply))
}

// A Server is servers without cluster mode, or proxies, that are asked for nothing but PING: each that
// answers has all slots.
type Server struct{ Nodes }

// Ask is part of [Source].
func (s Server) Ask(ctx context.Context, addr string, open wire.Submitter, _ *slots.Map) (slots.Answer, error) {
	_, err := ask(ctx, s.Dialer, wire.Purpose{}, addr, open, []string{"PING"})
	return slots.Answer{Addr: addr, Map: slots.Single(addr)}, err
}

// Purpose is part of [Source].
func (Server) Purpose(bool, func(string, []byte) error) wire.Purpose { return wire.Purpose{} }
