package envoydriver

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mediocregopher/radix/v4"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/pipeline"
)

// A Driver is the service's Client, for services whose PipeDo takes a context. See
// WithoutContext for others. It is safe for concurrent use.
type Driver struct {
	client    *cluster.Client
	conns     *connections
	timeout   time.Duration
	pipelines sync.Pool
}

// New connects and returns a Driver. For the type CLUSTER, servers without cluster
// mode are an error. The context bounds connecting only.
func New(ctx context.Context, o Options) (*Driver, error) {
	config, addrs, err := o.config()
	if err != nil {
		return nil, failed(fmt.Errorf("envoydriver: %w", err))
	}
	d := &Driver{conns: &connections{health: o.Health, told: o.Conns}, timeout: config.Dialer.Timeout}
	config.Trace = d.conns.trace()
	check := []string{"PING"}
	if strings.EqualFold(o.Type, "CLUSTER") {
		check = []string{"CLUSTER", "INFO"}
	}
	logger := cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	err = o.Startup.retry(ctx, logger, func() error { return d.connect(ctx, config, addrs, check) })
	if err != nil {
		return nil, failed(err)
	}
	d.pipelines.New = func() any { return pipeline.New(d.client) }
	return d, nil
}

// connect leaves no connection open if it fails.
func (d *Driver) connect(ctx context.Context, config cluster.Config, addrs, check []string) error {
	ctx, cancel := context.WithTimeout(ctx, d.timeout)
	defer cancel()
	client, err := config.New(ctx, addrs)
	if err != nil {
		return err
	}
	if err := client.Do(ctx, radix.Cmd(nil, check[0], check[1:]...)); err != nil {
		_ = client.Close()
		return err
	}
	d.client = client
	return nil
}

// Close closes all connections. Calls fail from then on.
func (d *Driver) Close() error { return d.client.Close() }

// NumActiveConns returns how many connections to all servers are open.
func (d *Driver) NumActiveConns() int { return int(max(d.conns.open.Load(), 0)) }

// DoCmd sends a command, and sets the receiver if there is a reply.
func (d *Driver) DoCmd(rcv any, cmd, key string, args ...any) error {
	ctx, cancel := context.WithTimeout(context.Background(), d.timeout)
	defer cancel()
	return failed(d.client.Do(ctx, radix.Cmd(rcv, cmd, texts(key, args)...)))
}

// PipeAppend appends a command.
func (d *Driver) PipeAppend(p Pipeline, rcv any, cmd, key string, args ...any) Pipeline {
	return append(p, PipelineAction{Action: radix.Cmd(rcv, cmd, texts(key, args)...), Key: key})
}

// PipeAppendWithRoutingKey appends a command whose first argument is no key, such as
// EVAL. The library finds the keys of a command by its name; the routing key is for
// others that look at the action.
func (d *Driver) PipeAppendWithRoutingKey(p Pipeline, routingKey string, rcv any, cmd, key string, args ...any) Pipeline {
	routed := radix.CmdConfig{ActionProperties: func(cmd string, args ...string) radix.ActionProperties {
		properties := radix.DefaultActionProperties(cmd, args...)
		properties.Keys = []string{routingKey}
		return properties
	}}
	return append(p, PipelineAction{Action: routed.Cmd(rcv, cmd, texts(key, args)...), Key: routingKey})
}

// PipeDo sends all commands at the same time, and sets the receivers of those that have
// a reply. It returns when each has a reply or an error, at the latest when the context
// ends or after Options.Timeout.
func (d *Driver) PipeDo(ctx context.Context, p Pipeline) error {
	ctx, cancel := context.WithTimeout(ctx, d.timeout)
	defer cancel()
	commands := d.pipelines.Get().(*pipeline.Pipeline)
	defer d.pipelines.Put(commands)
	commands.Reset()
	for _, a := range p {
		commands.Append(a.Action)
	}
	return failed(commands.Do(ctx))
}

// WithoutContext is the Client of services whose PipeDo takes no context.
type WithoutContext struct{ *Driver }

// PipeDo is that of the Driver. It returns after Options.Timeout at the latest.
func (d WithoutContext) PipeDo(p Pipeline) error { return d.Driver.PipeDo(context.Background(), p) }

// texts does what radix.FlatCmd does, with half of its allocations.
func texts(key string, args []any) []string {
	texts := append(make([]string, 0, 1+len(args)), key)
	for _, arg := range args {
		if b, ok := arg.([]byte); ok {
			arg = string(b)
		}
		texts = append(texts, fmt.Sprint(arg))
	}
	return texts
}

func failed(err error) error {
	if err == nil {
		return nil
	}
	return failure{err}
}

type failure struct{ error }

func (f failure) Unwrap() []error { return []error{RedisError(f.Error()), f.error} }

// connections counts those of all pools.
type connections struct {
	open   atomic.Int64 // for a moment below 0: ConnClosed may come before Dialed
	mu     sync.Mutex   // held during changes and calls, so that what is told last is true
	health func(bool)
	told   func(open, change int)
}

func (c *connections) trace() *redislanes.Trace {
	return &redislanes.Trace{
		Dialed: func(_ *redislanes.PoolInfo, _ time.Duration, err error) {
			if err == nil {
				c.change(1)
			}
		},
		ConnClosed: func(*redislanes.PoolInfo, string, error) { c.change(-1) },
	}
}

func (c *connections) change(by int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	open := int(c.open.Add(int64(by)))
	if up := open > 0; up != (open-by > 0) && c.health != nil {
		c.health(up)
	}
	if c.told != nil {
		c.told(max(open, 0), by)
	}
}
