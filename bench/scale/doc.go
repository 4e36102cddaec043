// Command scale measures what a cluster on one machine cannot show: the limits of the client
// itself and the cost of a very large cluster.
//
//	go -C bench run ./scale -raw raw/scale.jsonl.gz
//	go -C bench run ./scale -memory -raw raw/memory.jsonl.gz
//
// Both are measured beside servers that answer without work, in a process of
// their own: each counts INCRBY and EXPIRE by their line ends and replies 1. What is left
// is the client and the kernel. With -memory it asks what a client keeps, and what Redis
// keeps for each of its connections.
//
// Results are lines of JSON; -rewrite makes the tables of the pages from them.
package main
