// Package resp encodes Redis commands and finds the boundaries of replies in
// a byte stream, for RESP2 and RESP3.
//
// The encoder appends to a caller's slice. The [Framer] is fed with whatever
// a read returned and says where a reply ends; it keeps its place between
// reads, so no byte is looked at twice and no reply has to fit into a buffer.
// Everything that a server may send is bounded by one limit in bytes, and no input makes
// the package panic.
//
// It does not read sockets, allocate for replies or convert them to Go types,
// beyond the few that the hot path needs ([Int], [Bytes], [ErrorText]).
// Streamed strings and aggregates of RESP3 ("$?", "*?") are protocol errors:
// no released Redis server sends them.
//
// The protocol: https://redis.io/docs/latest/develop/reference/protocol-spec/
package resp
