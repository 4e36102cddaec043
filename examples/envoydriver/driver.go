package envoydriver

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/mediocregopher/radix/v4"

	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/pipeline"
)

type driver struct {
	client    *cluster.Client
	conns     *connections
	timeout   time.Duration
	pipelines sync.Pool
}

// New connects and returns a Client. For the type CLUSTER, servers without cluster
// mode are an error.
func New(o Options) (Client, error) {
	config, addrs, err := o.config()
	if err != nil {
		return nil, failed(fmt.Errorf("envoydriver: %w", err))
	}
	d := &driver{conns: &connections{health: o.Health, told: o.Conns}, timeout: config.Dialer.Timeout}
	config.Observer = d.conns
	ctx, cancel := d.context()
	defer cancel()
	if d.client, err = config.New(ctx, addrs); err != nil {
		return nil, failed(err)
	}
	d.pipelines.New = func() any { return pipeline.New(d.client) }
	check := radix.Cmd(nil, "PING")
	if strings.EqualFold(o.Type, "CLUSTER") {
		check = radix.Cmd(nil, "CLUSTER", "INFO")
	}
	if err := d.client.Do(ctx, check); err != nil {
		_ = d.client.Close()
		return nil, failed(err)
	}
	return d, nil
}

func (d *driver) Close() error        { return d.client.Close() }
func (d *driver) NumActiveConns() int { return int(max(d.conns.open.Load(), 0)) }

func (d *driver) DoCmd(rcv any, cmd, key string, args ...any) error {
	ctx, cancel := d.context()
	defer cancel()
	return failed(d.client.Do(ctx, radix.Cmd(rcv, cmd, texts(key, args)...)))
}

func (d *driver) PipeAppend(p Pipeline, rcv any, cmd, key string, args ...any) Pipeline {
	return append(p, PipelineAction{rcv, cmd, texts(key, args)})
}

func (d *driver) PipeDo(p Pipeline) error {
	ctx, cancel := d.context()
	defer cancel()
	commands := d.pipelines.Get().(*pipeline.Pipeline)
	defer d.pipelines.Put(commands)
	commands.Reset()
	replies := make([]pipeline.Reply, len(p))
	for i, a := range p {
		replies[i] = commands.Cmd(a.cmd, a.args...)
	}
	err := commands.Do(ctx)
	for i, reply := range replies {
		if p[i].rcv != nil && reply.Err() == nil {
			err = cmp.Or(err, reply.Into(p[i].rcv))
		}
	}
	return failed(err)
}

func (d *driver) context() (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.Background(), d.timeout)
}

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
