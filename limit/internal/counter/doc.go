// Package counter counts hits in the keys of windows. Its one rule: hits that do not fit are not
// counted.
//
// A [Take] appends commands to a pipeline and reads their replies. It sends nothing itself, so
// the takes of many keys travel together:
//
//	for again := true; again; {
//		server.Append(p, &take)
//		_ = p.Do(ctx) // each reply has its error
//		again = server.Read(&take)
//	}
//
// Which commands it sends depends on the server and on what is known of the key:
//
//	INCREX with UBOUND and ENX    the server has it (Redis 8.8). A sliding window adds GET
//	SET n EX ttl NX GET           nothing is known of the key, or it had no hits (Redis 7.0, Valkey). A
//	                              sliding window adds GET, and does this for a single hit
//	INCRBY                        the hits are at most 1/16 of the room. A sliding window adds GET
//	a script                      all other cases
//
// The last word may be old. Hits that went over the bound are given back in the next round.
//
// Only INCRBY can leave a key without an end: it makes the key if that was lost. So EXPIRE follows INCRBY in the
// same round if the key is not Known, and in the next round if the reply is smaller than it would be otherwise.
package counter
