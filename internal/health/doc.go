// Package health judges whether a server is up, suspect or down, from what its
// connections and dials show. It is pure: no lock, timer, goroutine or I/O, and it
// never asks for the time. Its user tells a [Server] what has happened and when, and
// does what the Server says.
//
// It knows three things: the time at which the server was last heard, the time at
// which each open question was asked, and the last failure. A question is a batch in
// flight, a dial, a handshake or a probe. One rule says what counts as evidence:
//
//	A question that had no answer proves nothing if the server was heard after
//	the question was asked.
//
// A refusal is an answer, so it stands until a dial succeeds or nobody wants another
// connection. All times are of a [Clock] that stops while the process is frozen.
//
// Silence has stages. Each is a multiple of what is usual, see limits.go:
//
//   - A connection with batches in flight is in doubt after an unusual silence, or
//     sooner if a caller has given up on it (Missed).
//   - A server that is silent everywhere is asked over a new connection.
//   - Without an answer in as long again it is suspect: no new batches.
//   - After StallTimeout its connections have stalled and are closed.
//
// A byte or an answer ends all of them. The server is down when no connection is left
// and there is evidence against it; a dial that succeeds ends that.
package health
