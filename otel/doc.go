// Package redisotel tells OpenTelemetry what a cluster client does: spans of requests,
// and metrics, by the semantic conventions for databases.
//
// An [Observer] is made with [Config.New]. Its trace is given to one client as
// cluster.Config.Trace; redislanes.JoinTraces puts it beside others. The package is a
// module of its own, so that programs that do not use it do not have its dependencies.
//
// A request is a span of kind client: one pipeline, one batch of pipeline.Counters, one
// command or script, or one action with a dedicated connection. Its parent is the span in the
// context of the call. If its commands went to several nodes, or were redirected, retried or
// failed, each group of commands that travelled together is a span below it. Nothing is built
// for a span that is not recorded.
//
// No key, value or argument is in any span or metric, and no text of a server: only
// names of commands, addresses of nodes, error codes of a fixed list, numbers and
// fixed words.
package redisotel
