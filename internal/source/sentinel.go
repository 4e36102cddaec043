package source

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"

	"github.com/redislanes/redislanes/internal/fate"
	"github.com/redislanes/redislanes/internal/resp"
	"github.com/redislanes/redislanes/internal/slots"
	"github.com/redislanes/redislanes/internal/wire"
	"github.com/redislanes/redislanes/lanes"
)

// A Sentinel is Sentinels that know the primary by its name.
type Sentinel struct {
	Nodes              // the servers that they watch
	Own   lanes.Dialer // of connections to the Sentinels
	Name  string
}

// NewSentinel returns a Sentinel, without a password that fmt could print.
func NewSentinel(servers Nodes, own lanes.Dialer, name string) Sentinel {
	return Sentinel{Nodes: servers, Own: wire.Sealed(own), Name: name}
}

// Purpose is part of [Source]: a primary has to say that it is one.
func (Sentinel) Purpose(replica bool, admit func(addr string, reply []byte) error) wire.Purpose {
	if replica {
		return wire.Purpose{}
	}
	return wire.Purpose{Role: true, Admits: admit}
}

// Ask asks a Sentinel for the primary, its replicas and the other Sentinels. A primary that is not in use
// is asked for its role, since a Sentinel that was cut off names the old one. Source: "Guidelines for Redis
// clients with support for Redis Sentinel". It is part of [Source].
func (s Sentinel) Ask(ctx context.Context, addr string, _ wire.Submitter, use *slots.Map) (a slots.Answer, err error) {
	a.Addr = addr
	replies, err := ask(ctx, s.Own, wire.Purpose{Sentinel: true}, addr, nil,
		[]string{"SENTINEL", "GET-MASTER-ADDR-BY-NAME", s.Name}, // the newer address while a failover is going on
		[]string{"SENTINEL", "MASTER", s.Name}, []string{"SENTINEL", "REPLICAS", s.Name},
		[]string{"SENTINEL", "SENTINELS", s.Name}, []string{"SENTINEL", "MYID"})
	if err != nil {
		return a, err
	}
	a.ID = slots.NodeID(replies[4])
	if a.Map, err = s.mapOf(a, replies); err != nil {
		return a, err
	}
	if use == nil || use.Addr() != a.Map.Addr() {
		err = s.verify(ctx, a.Map.Addr())
	}
	return a, err
}

// mapOf reads the replies.
func (s Sentinel) mapOf(a slots.Answer, replies [][]byte) (*slots.Map, error) {
	primary, err := parsePrimary(replies[0], replies[1])
	if err != nil {
		return nil, unused(s.refused(replies[0], err))
	}
	to, err := s.Translate(primary.addr)
	if err != nil {
		return nil, err
	}
	var replicas []string
	for _, i := range s.instances(replies[2]) { // without them there are only fewer to read from
		if !i.gone() && i.addr != to {
			replicas = append(replicas, i.addr)
		}
	}
	tellers, ids := []string{a.Addr}, []string{a.ID}
	for _, i := range s.instances(replies[3]) {
		if ids = append(ids, i.id); !slices.Contains(tellers, i.addr) {
			tellers = append(tellers, i.addr)
		}
	}
	if slices.Contains(ids, "") {
		ids = nil // nothing follows from some of them
	}
	return slots.Watch(primary.epoch+1, to, replicas, tellers, ids), nil
}

// instances reads the servers or Sentinels in a reply, and translates their addresses. One without an
// address is left out.
func (s Sentinel) instances(reply []byte) (usable []instance) {
	for _, i := range parseInstances(reply) {
		var err error
		if i.addr, err = s.Translate(i.addr); err == nil {
			usable = append(usable, i)
		}
	}
	return usable
}

// verify fails unless the server at the address says that it is a primary.
func (s Sentinel) verify(ctx context.Context, addr string) error {
	purpose := s.Purpose(false, func(_ string, role []byte) error { return AdmitPrimary(role) })
	lane, err := wire.DialFor(ctx, s.Dialer, purpose, addr, wire.Owner{})
	if err != nil {
		return fmt.Errorf("the primary that it names: %w", err)
	}
	return lane.Close()
}

// refused says why a Sentinel names no primary.
func (s Sentinel) refused(reply []byte, err error) error {
	switch {
	case errors.Is(err, errNoPrimary):
		return fmt.Errorf("the Sentinel knows no primary by the name %q: see Config.Sentinel", s.Name)
	case resp.IsError(reply) && fateOf(reply) == fate.Login:
		return fmt.Errorf("%w; set Config.SentinelDialer.Password or Credentials", err)
	case resp.IsError(reply) && fateOf(reply) == fate.Unknown:
		return errors.New("no Sentinel answers there, but a server: give the addresses of Sentinels, or leave Config.Sentinel out")
	}
	return err
}

// An instance is a server that a Sentinel watches, or another Sentinel.
type instance struct {
	addr  string
	id    string // of a Sentinel
	flags []string
	epoch uint64
}

// gone reports whether the Sentinel has lost the instance. One that will never come back is listed until
// somebody sends SENTINEL RESET.
func (i instance) gone() bool {
	return slices.ContainsFunc(i.flags, func(f string) bool { return f == "s_down" || f == "o_down" || f == "disconnected" })
}

var (
	errNoPrimary     = errors.New("the Sentinel does not know it")
	errSentinelReply = errors.New("the reply to SENTINEL cannot be read")
)

// parsePrimary reads the replies to SENTINEL GET-MASTER-ADDR-BY-NAME and SENTINEL MASTER. Without the second
// its epoch is unknown.
func parsePrimary(addr, master []byte) (primary instance, err error) {
	switch {
	case resp.IsError(addr):
		return primary, errors.New(fate.Printed(string(resp.ErrorText(addr))))
	case resp.IsNull(addr):
		return primary, errNoPrimary
	}
	parts, _ := resp.Array(addr)
	if len(parts) != 2 {
		return primary, errSentinelReply
	}
	host, _ := slots.Text(parts[0])
	port, _ := slots.Text(parts[1])
	if primary.addr, err = instanceAddr(host, port); err != nil {
		return primary, err
	}
	told, _ := instanceOf(master)
	primary.epoch = told.epoch
	return primary, nil
}

// parseInstances reads the reply to SENTINEL REPLICAS or SENTINELS. A row that cannot be used is left out.
func parseInstances(reply []byte) (list []instance) {
	rows, ok := resp.Array(reply)
	if !ok || len(rows) > maxInstances {
		return nil
	}
	for _, row := range rows {
		if i, err := instanceOf(row); err == nil {
			list = append(list, i)
		}
	}
	return list
}

// instanceOf reads names and values, in an array or a map. If only the address is none, the rest is there.
func instanceOf(row []byte) (i instance, err error) {
	fields, ok := resp.Map(row)
	if !ok || len(fields) > maxFields {
		return i, errSentinelReply
	}
	value := func(name string) []byte { s, _ := slots.Text(fields[name]); return s }
	i.id = string(value("runid"))
	i.flags = strings.Split(string(value("flags")), ",")
	i.epoch, _ = strconv.ParseUint(string(value("config-epoch")), 10, 64)
	i.addr, err = instanceAddr(value("ip"), value("port"))
	return i, err
}

func instanceAddr(host, port []byte) (string, error) {
	n, err := strconv.ParseUint(string(port), 10, 16)
	host, usable := slots.UsableHost(host)
	if err != nil || n == 0 || !usable {
		return "", fmt.Errorf("%w: %q is no host, or %q no port", errSentinelReply, host, port)
	}
	return net.JoinHostPort(string(host), string(port)), nil
}
