package engine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/internal/fate"
	"github.com/redislanes/redislanes/internal/resp"
	"github.com/redislanes/redislanes/internal/wire"
)

// Bounds of what a Sentinel may tell.
const (
	maxInstances = 1024 // replicas, or other Sentinels
	maxFields    = 128  // of an instance; Redis 8 has about 40
)

// sentinels returns whom to ask for the primary: those that another one has told
// of, in random order, and the addresses that New was given.
func (c *Client) sentinels(t *topology) []string {
	var addrs []string
	if t.view != nil {
		addrs = slices.Clone(t.view.sentinels)
	}
	rand.Shuffle(len(addrs), func(i, j int) { addrs[i], addrs[j] = addrs[j], addrs[i] })
	for _, seed := range c.seeds {
		if !slices.Contains(addrs, seed) {
			addrs = append(addrs, seed)
		}
	}
	return addrs
}

// askSentinel asks one Sentinel for the primary, its replicas and the other
// Sentinels, and the primary for its role: a Sentinel that was cut off from the
// others names the old one. Source: "Guidelines for Redis clients with support for
// Redis Sentinel".
func (c *Client) askSentinel(ctx context.Context, addr string) (*view, error) {
	said, err := c.sentinelSays(ctx, addr)
	if err != nil {
		return nil, err
	}
	if err := c.translateInstances(&said); err != nil {
		return nil, err
	}
	if err := c.verifyPrimary(ctx, said.primary.addr); err != nil {
		return nil, fmt.Errorf("the primary that it names: %w", err)
	}
	return said.view(addr), nil
}

// translateInstances asks AddrMap for each address that the Sentinel has told.
func (c *Client) translateInstances(said *sentinelSaid) (err error) {
	if said.primary.addr, err = c.mapped(said.primary.addr); err != nil {
		return err
	}
	for _, list := range [][]instance{said.replicas, said.sentinels} {
		for i := range list {
			if list[i].addr, err = c.mapped(list[i].addr); err != nil {
				return err
			}
		}
	}
	return nil
}

// verifyTime is how long the server that a Sentinel names may take to say that it
// is the primary. It may be about to be replaced, and refreshes come one by one.
const verifyTime = time.Second

// verifyPrimary fails unless the server at the address says that it is a primary.
func (c *Client) verifyPrimary(ctx context.Context, addr string) error {
	ctx, cancel := context.WithTimeout(ctx, verifyTime)
	defer cancel()
	purpose := wire.Purpose{Role: true, Member: admitPrimary}
	if c.cfg.NoIdentity {
		purpose = wire.Purpose{}
	}
	lane, err := wire.DialFor(ctx, c.cfg.Dialer, purpose, addr, nil)
	if err != nil {
		return err
	}
	c.hangUp(lane)
	return nil
}

// admitPrimary decides by the reply to ROLE whether the server may be sent what
// is for the primary. What it refuses to tell is not held against it.
func admitPrimary(_ string, _, role []byte) error {
	r := replyReader{b: role}
	if n, err := r.elements("a role"); err != nil || n == 0 {
		return nil
	}
	if name, err := r.text("a role"); err == nil && string(name) != "master" {
		return fmt.Errorf("%w: its role is %s, not that of the primary", redislanes.ErrNotMember, resp.Redact(string(name)))
	}
	return nil
}

// sentinelSaid is what one Sentinel has told.
type sentinelSaid struct {
	primary   instance
	replicas  []instance
	sentinels []instance
	skips     []skip
}

// An instance is a server that a Sentinel watches, or another Sentinel.
type instance struct {
	addr  string
	flags []string
	epoch uint64
}

// gone tells whether the Sentinel has lost the instance. One that will never come
// back is listed until somebody sends SENTINEL RESET.
func (i instance) gone() bool {
	return slices.ContainsFunc(i.flags, func(f string) bool { return f == "s_down" || f == "o_down" || f == "disconnected" })
}

// view returns the map: all slots are the primary's.
func (s sentinelSaid) view(asked string) *view {
	var replicas []string
	for _, r := range s.replicas {
		if !r.gone() && r.addr != s.primary.addr {
			replicas = append(replicas, r.addr)
		}
	}
	v := singleView(s.primary.addr, replicas...)
	v.claims[0].epoch = s.primary.epoch
	v.sentinels, v.skips = []string{asked}, s.skips
	for _, other := range s.sentinels {
		if !other.gone() && !slices.Contains(v.sentinels, other.addr) {
			v.sentinels = append(v.sentinels, other.addr)
		}
	}
	return v
}

func (c *Client) sentinelSays(ctx context.Context, addr string) (said sentinelSaid, err error) {
	dialer := wire.WithDefaults(*c.cfg.Sentinel)
	dialer.Limits.Reply = min(dialer.Limits.Reply, maxMap)
	lane, err := wire.DialFor(ctx, dialer, wire.Purpose{Sentinel: true}, addr, nil)
	if err != nil {
		return said, err
	}
	defer c.hangUp(lane)
	ctx, cancel := context.WithTimeout(ctx, dialer.Timeout)
	defer cancel()
	name := c.cfg.Primary
	// The address of the first is the newer one while a failover is going on.
	replies, err := askAll(ctx, lane, []string{"GET-MASTER-ADDR-BY-NAME", name}, []string{"MASTER", name},
		[]string{"REPLICAS", name}, []string{"SENTINELS", name})
	if err != nil {
		return said, err
	}
	if said.primary, err = parsePrimary(replies[0], replies[1]); err != nil {
		return said, &redislanes.MapError{Addr: addr, Reason: c.sentinelRefusal(replies[0], err)}
	}
	var skips [2][]skip
	said.replicas, skips[0], _ = parseInstances(replies[2]) // without them there are only fewer to read from
	said.sentinels, skips[1], _ = parseInstances(replies[3])
	said.skips = slices.Concat(skips[0], skips[1])
	return said, nil
}

// sentinelRefusal says why a Sentinel names no primary.
func (c *Client) sentinelRefusal(reply []byte, err error) string {
	switch f := fate.Of(resp.ErrorText(reply)); {
	case resp.IsError(reply) && f == fate.Login:
		return err.Error() + "; set Config.Sentinel.Dialer.Password or Credentials"
	case errors.Is(err, errNoPrimary):
		return fmt.Sprintf("the Sentinel knows no primary by the name %q: see Config.Sentinel.Primary", c.cfg.Primary)
	case resp.IsError(reply) && f == fate.Unknown:
		return "no Sentinel answers there, but a server: give the addresses of Sentinels, or leave Config.Sentinel out"
	}
	return err.Error()
}

// askAll sends SENTINEL with each of the subcommands and returns the replies.
func askAll(ctx context.Context, lane *wire.Lane, subcommands ...[]string) ([][]byte, error) {
	var request []byte
	ends := make([]int, len(subcommands))
	for i, args := range subcommands {
		request = resp.AppendCommand(request, "SENTINEL", args...)
		ends[i] = len(request)
	}
	call, batch := wire.NewCall(), new(wire.Batch)
	batch.Reset(call, request)
	from := 0
	for _, end := range ends {
		batch.Add(from, end)
		from = end
	}
	wire.RoundTrip(ctx, lane, call, batch)
	replies := make([][]byte, len(ends))
	for i := range ends {
		reply, err := batch.Reply(i)
		if err != nil {
			return nil, err
		}
		replies[i] = reply
	}
	return replies, nil
}

var errNoPrimary = errors.New("it is not known")

// parsePrimary reads the replies to SENTINEL GET-MASTER-ADDR-BY-NAME and SENTINEL
// MASTER. Without the second its epoch is unknown.
func parsePrimary(addr, master []byte) (instance, error) {
	if resp.IsError(addr) {
		return instance{}, errors.New(resp.Redact(string(resp.ErrorText(addr))))
	}
	if bytes.HasPrefix(addr, []byte("*-1")) || bytes.HasPrefix(addr, []byte("_")) {
		return instance{}, errNoPrimary
	}
	var primary instance
	r := replyReader{b: addr}
	if n, err := r.array("an address", 2, 2); err != nil || n != 2 {
		return instance{}, errSentinelReply
	}
	host, err := r.text("a host")
	if err != nil {
		return instance{}, errSentinelReply
	}
	port, err := r.text("a port")
	if err != nil || r.off != len(addr) {
		return instance{}, errSentinelReply
	}
	if primary.addr, err = instanceAddr(host, port); err != nil {
		return instance{}, err
	}
	r = replyReader{b: master}
	if told, _, _, err := r.instance(); err == nil {
		primary.epoch = told.epoch
	}
	return primary, nil
}

var errSentinelReply = errors.New("the reply to SENTINEL makes no sense")

// parseInstances reads the reply to SENTINEL REPLICAS or SENTINELS. A row that cannot
// be used is skipped.
func parseInstances(reply []byte) (list []instance, skips []skip, err error) {
	r := replyReader{b: reply}
	n, err := r.array("an array of instances", 0, maxInstances)
	if err != nil {
		return nil, nil, errSentinelReply
	}
	for range n {
		row, err := r.cut(maxReplyDepth - 1)
		if err != nil {
			return nil, nil, errSentinelReply
		}
		told, host, port, err := row.instance()
		if err == nil {
			told.addr, err = instanceAddr(host, port)
		}
		if err != nil {
			name := plain(net.JoinHostPort(string(host), string(port)))
			skips = append(skips, skip{node: name, reason: "its row in the reply to SENTINEL cannot be used"})
			continue
		}
		list = append(list, told)
	}
	return list, skips, nil
}

// instance reads names and values, in an array or a map. Host and port are part of the
// reply.
func (r *replyReader) instance() (told instance, host, port []byte, err error) {
	if r.off >= len(r.b) || r.b[r.off] != '*' && r.b[r.off] != '%' {
		return told, host, port, errSentinelReply
	}
	n, err := r.elements("an instance")
	if err != nil || n%2 != 0 || n > 2*maxFields {
		return told, host, port, errSentinelReply
	}
	for range n / 2 {
		name, err := r.text("a name")
		if err != nil {
			return told, host, port, errSentinelReply
		}
		value, err := r.text("a value")
		if err != nil {
			return told, host, port, errSentinelReply
		}
		switch string(name) {
		case "ip":
			host = value
		case "port":
			port = value
		case "flags":
			told.flags = strings.Split(string(value), ",")
		case "config-epoch":
			told.epoch, _ = strconv.ParseUint(string(value), 10, 64)
		}
	}
	return told, host, port, nil
}

func instanceAddr(host, port []byte) (string, error) {
	n, err := atoi(port)
	host, usable := usableHost(host)
	if err != nil || n < 1 || n > 65535 || !usable {
		return "", fmt.Errorf("%w: %q is no host, or %q no port", errSentinelReply, host, port)
	}
	return net.JoinHostPort(string(host), string(port)), nil
}
