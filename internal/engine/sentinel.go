package engine

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/redislanes/redislanes/internal/cause"
	"github.com/redislanes/redislanes/internal/fate"
	"github.com/redislanes/redislanes/internal/resp"
	"github.com/redislanes/redislanes/internal/slots"
	"github.com/redislanes/redislanes/internal/wire"
)

// sentinels returns the Sentinels to ask for the primary: first those that other Sentinels have
// named, in random order, then the addresses that New was given.
func (c *Client) sentinels(t *topology) []string {
	var addrs []string
	if t.Map != nil {
		addrs = slices.Clone(t.Map.Sentinels)
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
func (q asker) askSentinel(ctx context.Context, addr string) (told *slots.Map, took time.Duration, err error) {
	said, err := q.sentinelSays(ctx, addr)
	if err != nil {
		return nil, 0, err
	}
	if err := q.translateInstances(ctx, &said); err != nil {
		return nil, 0, err
	}
	began := time.Now()
	if err := q.verifyPrimary(ctx, said.Primary.Addr); err != nil {
		return nil, 0, fmt.Errorf("the primary that it names: %w", err)
	}
	return said.Map(addr), time.Since(began), nil
}

// translateInstances asks AddrMap for each address that the Sentinel has told. If what it
// returns for another one than the primary's is no address, that instance is skipped.
func (q asker) translateInstances(ctx context.Context, said *slots.SentinelReply) error {
	ctx, cancel := context.WithTimeout(ctx, wire.WithDefaults(*q.cfg.Sentinel).Timeout)
	defer cancel()
	to, wrong, err := q.mapped(said.Primary.Addr)
	switch {
	case err != nil:
		return err
	case wrong != "":
		return errors.New(wrong)
	}
	said.Primary.Addr = to
	for _, list := range []*[]slots.Instance{&said.Replicas, &said.Sentinels} {
		usable := (*list)[:0]
		for _, instance := range *list {
			to, wrong, err := q.mapped(instance.Addr)
			switch {
			case err != nil:
				return err
			case wrong != "":
				said.Skips = append(said.Skips, slots.Skip{Node: slots.Printable(instance.Addr), Reason: wrong})
				continue
			}
			instance.Addr = to
			usable = append(usable, instance)
		}
		*list = usable
	}
	return nil
}

// patience returns how long it may take to verify a primary. A refresh waits for that, and a
// Sentinel may name a primary that is silent. But it may also take long to find the address of a
// name. So a running client waits for askTime, or longer if the last primary took longer or if
// refreshes have failed for long. The first contact has all of Dialer.Timeout.
func (r *refresher) patience(t *topology) time.Duration {
	most := wire.WithDefaults(r.client.cfg.Dialer).Timeout
	if t.Map == nil {
		return most
	}
	patience := max(askTime, 2*r.took)
	if !r.failing.IsZero() {
		patience = max(patience, time.Since(r.failing)/patienceShare)
	}
	return min(patience, most)
}

// verifyPrimary fails unless the server at the address says that it is a primary.
func (q asker) verifyPrimary(ctx context.Context, addr string) error {
	ctx, cancel := context.WithTimeout(ctx, q.patience)
	defer cancel()
	purpose := wire.Purpose{Role: true, Admits: slots.AdmitPrimary}
	if q.cfg.NoIdentity {
		purpose = wire.Purpose{}
	}
	return q.reach(ctx, purpose, addr)
}

func (q asker) sentinelSays(ctx context.Context, addr string) (said slots.SentinelReply, err error) {
	dialer := wire.WithDefaults(*q.cfg.Sentinel)
	dialer.MaxReply = min(dialer.MaxReply, maxMap)
	lane, err := wire.DialFor(ctx, dialer, wire.Purpose{Sentinel: true}, addr)
	if err != nil {
		return said, err
	}
	defer func() { _ = lane.Close() }()
	ctx, cancel := context.WithTimeout(ctx, dialer.Timeout)
	defer cancel()
	name := q.cfg.Primary
	questions := [][]string{ // the address of the first is the newer one while a failover is going on
		{"SENTINEL", "GET-MASTER-ADDR-BY-NAME", name}, {"SENTINEL", "MASTER", name},
		{"SENTINEL", "REPLICAS", name}, {"SENTINEL", "SENTINELS", name},
	}
	if !q.cfg.NoIdentity {
		questions = append(questions, []string{"SENTINEL", "MYID"})
	}
	batch := wire.Ask(ctx, lane, questions...)
	replies := make([][]byte, len(questions))
	for i := range replies {
		if replies[i], err = batch.Reply(i); err != nil {
			return said, err
		}
	}
	if said.Primary, err = slots.ParsePrimary(replies[0], replies[1]); err != nil {
		return said, &cause.Map{Addr: addr, Reason: q.sentinelRefusal(replies[0], err)}
	}
	var skips [2][]slots.Skip
	said.Replicas, skips[0], _ = slots.ParseInstances(replies[2]) // without them there are only fewer to read from
	said.Sentinels, skips[1], _ = slots.ParseInstances(replies[3])
	said.Skips = slices.Concat(skips[0], skips[1])
	if !q.cfg.NoIdentity {
		said.ID = slots.NodeID(replies[4])
	}
	return said, nil
}

// sentinelRefusal says why a Sentinel names no primary.
func (q asker) sentinelRefusal(reply []byte, err error) string {
	switch f := fate.Of(resp.ErrorText(reply)); {
	case resp.IsError(reply) && f == fate.Login:
		return err.Error() + "; set Config.Sentinel.Dialer.Password or Credentials"
	case errors.Is(err, slots.ErrNoPrimary):
		return fmt.Sprintf("the Sentinel knows no primary by the name %q: see Config.Sentinel.Primary", q.cfg.Primary)
	case resp.IsError(reply) && f == fate.Unknown:
		return "no Sentinel answers there, but a server: give the addresses of Sentinels, or leave Config.Sentinel out"
	}
	return err.Error()
}
