// Package redislanes holds what its packages share: their errors, the statistics of a
// client ([Stats]), and the functions that a client calls when something happens ([Trace]).
//
// Every command ends in one of four ways, which errors.Is tells apart:
//
//   - done: there is a reply, which may be an error of the server (errors.As finds
//     a resp3.SimpleError of radix, with the text as the server sent it);
//   - [ErrRefused]: the server said that it did not execute the command, and
//     might later or elsewhere;
//   - [ErrNotSent]: the server has not seen the command;
//   - [ErrUnknownOutcome]: the command was sent and has no reply, so that it may
//     have been executed or not.
//
// The library sends what was refused or not sent again for as long as its settings
// and the context allow, and what has an unknown outcome only if it just reads or was
// marked as idempotent. A write with an unknown outcome keeps it until the repeat has
// a reply: see [ErrUnknownOutcome]. Errors such as [ErrExhausted] and [ErrDown] say why a
// command was not sent; they wrap ErrNotSent. An [Error] names the command
// and the node. No error shows arguments, keys or credentials in its text.
//
// Package cluster has the client, package pipeline what most programs use of it,
// package pool the kinds of connection pools, package lanes how servers are dialled
// and connections are chosen, package metrics what Prometheus sees, package sizing
// formulas for sizes of pools, and package redistest a cluster for a program's tests.
package redislanes
