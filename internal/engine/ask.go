package engine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/internal/cause"
	"github.com/redislanes/redislanes/internal/fate"
	"github.com/redislanes/redislanes/internal/guard"
	"github.com/redislanes/redislanes/internal/resp"
	"github.com/redislanes/redislanes/internal/slots"
	"github.com/redislanes/redislanes/internal/wire"
)

// An asker asks servers and Sentinels what they know of the cluster, each over a connection
// of its own.
type asker struct {
	cfg      Config
	patience time.Duration // how long it may take to verify a primary
	lenient  bool          // texts that no server sends may be meant for good, see refusedForNow
}

// An answer is what one server says of the cluster.
type answer struct {
	addr string
	id   string // the server's own; "" if it does not tell
	told *slots.Map
	took time.Duration // to verify the primary that a Sentinel names
	err  error         // why there is no map
}

// question asks one server for its map of the slots, with the config epochs and its ID if it
// tells them: CLUSTER NODES may be forbidden. sure says that the map in use has the IDs of the
// nodes. They must not be forgotten because one reply is lost.
func (q asker) question(ctx context.Context, addr string, sure bool) answer {
	a := answer{addr: addr}
	switch {
	case q.cfg.Sentinel != nil:
		a.told, a.took, a.err = q.askSentinel(ctx, addr)
		return a
	case q.cfg.Standalone:
		a.told, a.err = slots.Single(addr), q.reach(ctx, wire.Purpose{}, addr) // it is not asked for a map
		return a
	}
	dialer := wire.WithDefaults(q.cfg.Dialer)
	dialer.MaxReply = min(dialer.MaxReply, maxMap)
	var myID string
	purpose := wire.Purpose{Admits: func(_ string, id []byte) error {
		myID = slots.NodeID(id)
		return nil
	}}
	if q.cfg.NoIdentity {
		purpose = wire.Purpose{}
	}
	lane, err := wire.DialFor(ctx, dialer, purpose, addr)
	if err != nil {
		a.err = err
		return a
	}
	defer func() { _ = lane.Close() }()
	ctx, cancel := context.WithTimeout(ctx, dialer.Timeout)
	defer cancel()
	said, err := q.roundTrip(ctx, lane, sure)
	if errors.Is(err, resp.ErrLimit) {
		err = fmt.Errorf("%w; a map of the slots is larger if nodes own many separate ranges: give them contiguous ones, raise Dialer.MaxReply if it is the limit, or set Config.Standalone", err)
	}
	if err != nil {
		a.err = err
		return a
	}
	a.id = said.told.Self
	if a.id == "" {
		a.id = myID
	}
	if a.told = said.single; a.told == nil {
		a.told = slots.NewMap(said.ranges, said.told)
		a.told.Skips = said.skips
		a.told.Sure = myID != "" && said.told.Self == myID && len(a.told.Claims) > 0 && said.told.Knows(a.told.Claims)
	}
	return a
}

// reach dials the server, and returns why it cannot be used for the purpose.
func (q asker) reach(ctx context.Context, purpose wire.Purpose, addr string) error {
	lane, err := wire.DialFor(ctx, q.cfg.Dialer, purpose, addr)
	if err == nil {
		_ = lane.Close()
	}
	return err
}

// mapReply is the replies to CLUSTER SLOTS and CLUSTER NODES.
type mapReply struct {
	ranges []slots.Range
	told   slots.NodesReply
	skips  []slots.Skip
	single *slots.Map // of a server without cluster mode
}

func (q asker) roundTrip(ctx context.Context, lane *wire.Lane, sure bool) (m mapReply, err error) {
	questions := [][]string{{"CLUSTER", "SLOTS"}}
	if !q.cfg.NoIdentity {
		questions = append(questions, []string{"CLUSTER", "NODES"})
	}
	batch := wire.Ask(ctx, lane, questions...)
	reply, err := batch.Reply(0)
	switch {
	case err != nil:
		return m, err
	case slots.ClusterDisabled(reply):
		m.single = slots.Single(lane.Address())
		if q.cfg.NoIdentity {
			return m, nil
		}
		role, err := wire.Ask(ctx, lane, []string{"ROLE"}).Reply(0)
		if err == nil && refusedForNow(role, q.lenient) {
			return m, replyError("ROLE", lane.Address(), role)
		}
		m.single.Follows = err == nil && errors.Is(slots.AdmitPrimary("", role), redislanes.ErrWrongServer)
		return m, err
	case resp.IsError(reply):
		return m, q.explain(ctx, lane, replyError("CLUSTER", lane.Address(), reply), resp.ErrorText(reply))
	}
	m.ranges, m.skips, err = slots.ParseSlots(reply, lane.Address())
	if err == nil {
		if failed := q.translate(ctx, &m); failed != nil {
			return m, failed
		}
	}
	usable := slices.ContainsFunc(m.ranges, func(r slots.Range) bool { return len(r.Nodes) > 0 })
	switch {
	case err == nil && !usable && len(m.skips) > 0:
		err = fmt.Errorf("no primary in its CLUSTER SLOTS reply can be used; the first, %s: %s", m.skips[0].Node, m.skips[0].Reason)
	case err == nil && len(m.ranges) == 0:
		err = errors.New("it knows of no slots: is it part of a cluster?")
	}
	if err != nil {
		return m, &cause.Map{Addr: lane.Address(), Reason: err.Error()}
	}
	if q.cfg.NoIdentity {
		return m, nil
	}
	switch reply, err := batch.Reply(1); {
	case err == nil && refusedForNow(reply, q.lenient):
		return m, replyError("CLUSTER", lane.Address(), reply)
	case err == nil:
		m.told, _ = slots.ParseNodes(reply) // without it the epochs are unknown
		m.skips = append(m.skips, m.told.Skips...)
	case sure:
		return m, err // it got lost, and all that is known of the nodes would be forgotten with it
	}
	return m, nil
}

// explain says what to do about a server's refusal of CLUSTER SLOTS.
func (q asker) explain(ctx context.Context, lane *wire.Lane, err error, said []byte) error {
	switch f := fate.Of(said); {
	case f == fate.NoPermission:
		return fmt.Errorf("%w; the ACL user needs +cluster|slots, or set Config.Standalone", err)
	case f == fate.Login:
		return fmt.Errorf("%w; set Config.Dialer.Password or Credentials", err)
	case f == fate.Unknown, f == fate.Unlisted:
		reply, asked := wire.Ask(ctx, lane, []string{"ROLE"}).Reply(0)
		if asked == nil && bytes.Contains(reply, []byte("\r\nsentinel\r\n")) {
			return fmt.Errorf("%w; a Sentinel answers there: set Config.Sentinel, or give the addresses of Redis servers", err)
		}
		return fmt.Errorf("%w; a server that may not be asked for CLUSTER needs Config.Standalone", err)
	}
	return err
}

// refusedForNow reports whether the reply to a question is an error that may not come
// again, so that the question is asked again. A server that does not know the question, or
// may not answer it, is done without its answer. So is, if lenient is set, one that refuses it with
// a text that no server sends.
func refusedForNow(reply []byte, lenient bool) bool {
	if !resp.IsError(reply) {
		return false
	}
	f := fate.Of(resp.ErrorText(reply))
	return f.PassesForDial() && (f != fate.Unlisted || !lenient)
}

// An untranslated error is that of Config.AddrMap, which failed. A server has told its map.
type untranslated struct{ error }

func (e untranslated) Unwrap() error { return e.error }

// translate asks AddrMap once for each address that the server has told. If what it returns is
// no address, that node is skipped.
func (q asker) translate(ctx context.Context, m *mapReply) error {
	type answer struct{ to, wrong string }
	known := make(map[string]answer) // a node may be in thousands of ranges
	for k := range m.ranges {
		r := &m.ranges[k]
		for i := 0; i < len(r.Nodes); i++ {
			n := &r.Nodes[i]
			if n.Dialled {
				continue
			}
			a, asked := known[n.Addr]
			if !asked {
				var err error
				if a.to, a.wrong, err = q.mapped(n.Addr); err != nil {
					return err
				}
				known[n.Addr] = a
			}
			if a.wrong == "" {
				n.Addr = a.to
				continue
			}
			m.skips = append(m.skips, slots.Skip{Node: slots.Printable(n.Addr), Reason: a.wrong, Primary: i == 0, First: r.First, Last: r.Last})
			if i == 0 {
				r.Nodes = nil // a replica must not be taken for the primary
			} else {
				r.Nodes = slices.Delete(r.Nodes, i, i+1)
			}
			i--
		}
	}
	return nil
}

// mapped asks AddrMap, without a lock held, for an address that a server names. It is not asked
// for an address that was dialled, such as the host in place of a NULL endpoint. wrong says why
// what it returned is no address; it may hold a password, which wrong does not show.
func (q asker) mapped(addr string) (to, wrong string, err error) {
	if q.cfg.AddrMap == nil {
		return addr, "", nil
	}
	to, err = guard.Value("Config.AddrMap", func() string { return q.cfg.AddrMap(addr) })
	if err != nil {
		return "", "", untranslated{err}
	}
	if to != addr {
		if err = wire.CheckAddr(to); err == nil {
			err = validAddr(to)
		}
		if err != nil {
			return "", fmt.Sprintf("Config.AddrMap returned for %s what cannot be dialled: %v", addr, err), nil
		}
	}
	return to, "", nil
}
