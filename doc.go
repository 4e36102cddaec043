// Package redislanes holds what its packages share: their errors, the statistics of a
// client ([Stats]), and the functions that a client calls when something happens ([Trace]).
//
// Every command ends in one of four ways. errors.Is tells them apart:
//
//   - Done: there is a reply. It may be an error of the server. Then errors.As finds
//     a resp3.SimpleError of radix, with the text as the server sent it.
//   - [ErrRefused]: the server said that it did not execute the command. It might do so
//     later, or another server might.
//   - [ErrNotSent]: the server has not seen the command.
//   - [ErrUnknownOutcome]: the command was sent and has no reply. The server may have
//     executed it or not.
//
// The client retries commands that were refused or not sent, for as long as its settings
// and the context allow. It retries a command with an unknown outcome only if the command
// just reads or was marked as idempotent. [Error] names the command, the node and the cause.
// Errors such as [ErrExhausted] and [ErrDown] say why a command was not sent; they wrap
// ErrNotSent. No error shows arguments, keys or credentials in its text, unless a script put
// them into an error of its own.
//
// The packages:
//
//   - limit: rate limits and concurrency limits.
//   - pipeline: many commands in one call, and Counters for keys that many callers count.
//   - cluster: the client.
//   - pool: the kinds of connection pools and their settings.
//   - lanes: how servers are dialled, and how a connection is chosen.
//   - metrics, limit/limitmetrics: metrics of clients and of limiters for Prometheus.
//   - otel: spans and metrics for OpenTelemetry (a module of its own).
//   - limit/limitgrpc: interceptors for gRPC (a module of its own).
//   - sizing: formulas for the sizes of pools.
//   - redistest: an emulated cluster and a fault proxy for tests.
//   - redistest/sim: a simulated cluster in virtual time, for tests.
package redislanes
