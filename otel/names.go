package redisotel

import (
	"context"
	"errors"
	"maps"
	"net"
	"strconv"
	"sync"
	"sync/atomic"

	"go.opentelemetry.io/otel/attribute"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"

	"github.com/redislanes/redislanes"
)

// mostEntries bounds what a cache holds. A program may make up names of commands, and
// addresses come and go.
const mostEntries = 1024

// A cache keeps the values that it has made. When it is full, it drops them all. Reading it takes no
// lock and does not allocate. The zero value is ready to use.
type cache[K comparable, V any] struct {
	values atomic.Pointer[map[K]V]
	mu     sync.Mutex // guards the changing of values
}

func (c *cache[K, V]) get(k K, make func(K) V) V {
	if values := c.values.Load(); values != nil {
		if v, ok := (*values)[k]; ok {
			return v
		}
	}
	v := make(k)
	c.mu.Lock()
	defer c.mu.Unlock()
	next := map[K]V{}
	if values := c.values.Load(); values != nil && len(*values) < mostEntries {
		maps.Copy(next, *values)
	}
	next[k] = v
	c.values.Store(&next)
	return v
}

// An operation is commands by their name.
type operation struct {
	command string
	batch   bool
}

// name returns db.operation.name; "" if it is not known.
func (o operation) name() string {
	switch {
	case !o.batch:
		return o.command
	case o.command == "":
		return "PIPELINE"
	}
	return "PIPELINE " + o.command
}

func operationOf(command string, commands int) operation {
	return operation{command, commands > 1}
}

// named is what is built once for all spans of an operation.
type named struct {
	span  string
	start []trace.SpanStartOption
}

func (o *Observer) named(of operation) named {
	attrs := o.common.ToSlice()
	n := named{span: of.name()}
	if n.span == "" {
		n.span = semconv.DBSystemNameRedis.Value.AsString()
	} else {
		attrs = append(attrs, semconv.DBOperationName(n.span))
	}
	n.start = []trace.SpanStartOption{trace.WithSpanKind(trace.SpanKindClient), trace.WithAttributes(attrs...)}
	return n
}

// serverAttrs are the attributes of a node's address, host:port or the path of a unix
// socket.
func serverAttrs(addr string) []attribute.KeyValue {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return []attribute.KeyValue{semconv.ServerAddress(addr)}
	}
	n, err := strconv.Atoi(port)
	if err != nil {
		return []attribute.KeyValue{semconv.ServerAddress(addr)}
	}
	return []attribute.KeyValue{semconv.ServerAddress(host), semconv.ServerPort(n)}
}

// otherCode is the code of an error reply that is in no list.
const otherCode = "other"

// errorType returns error.type of what has failed: a code, or one of a few words.
func errorType(outcome string, code string, err error) string {
	switch {
	case outcome == "ok":
		return ""
	case code == otherCode:
		return semconv.ErrorTypeOther.Value.AsString()
	case code != "":
		return code
	case errors.Is(err, context.Canceled):
		return "canceled"
	case errors.Is(err, context.DeadlineExceeded):
		return "timeout"
	case errors.Is(err, redislanes.ErrDown):
		return "down"
	case errors.Is(err, redislanes.ErrExhausted):
		return "exhausted"
	case errors.Is(err, redislanes.ErrNoOwner):
		return "no_owner"
	case outcome == "error":
		return semconv.ErrorTypeOther.Value.AsString()
	}
	return outcome
}

// errorAttrs are the attributes of what has failed, none if nothing has.
func errorAttrs(outcome string, code string, err error) (attrs []attribute.KeyValue) {
	what := errorType(outcome, code, err)
	if what == "" {
		return nil
	}
	if code != "" && code != otherCode {
		attrs = append(attrs, semconv.DBResponseStatusCode(code))
	}
	return append(attrs, semconv.ErrorTypeKey.String(what))
}
