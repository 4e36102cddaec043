package envoydriver

import (
	"context"

	"github.com/mediocregopher/radix/v4"
)

// This file stays here: the service declares the same names in its driver.go.

// A Client is what the service calls, from many goroutines. errors.As finds a
// RedisError in every error, and errors.Is finds the outcome of the commands, such as
// redislanes.ErrNotSent. Receivers are pointers or nil.
type Client interface {
	DoCmd(rcv any, cmd, key string, args ...any) error
	PipeAppend(pipeline Pipeline, rcv any, cmd, key string, args ...any) Pipeline
	PipeAppendWithRoutingKey(pipeline Pipeline, routingKey string, rcv any, cmd, key string, args ...any) Pipeline
	PipeDo(ctx context.Context, pipeline Pipeline) error // sends all, and sets the receivers of those that have a reply
	Close() error
	NumActiveConns() int // open connections to all servers
}

// A Pipeline is the commands of one request. It can be sent once.
type Pipeline []PipelineAction

// A PipelineAction is a command that is not sent yet.
type PipelineAction struct {
	Action radix.Action
	Key    string
}

// A RedisError is how the service tells errors of Redis from others.
type RedisError string

func (e RedisError) Error() string { return string(e) }

var _ Client = (*Driver)(nil)
