// Command scale measures what a cluster on one machine cannot show: the limits of the client
// itself, the cost of a very large cluster and, by simulation, the load of a fleet of instances
// on the node of one hot key.
//
//	go -C bench run ./scale -raw raw/scale.jsonl.gz
//	go -C bench run ./scale -memory -raw raw/memory.jsonl.gz
//
// The first two are measured beside servers that answer without work, in a process of
// their own: each counts INCRBY and EXPIRE by their line ends and replies 1. What is left
// is the client and the kernel. The third is a simulation of many instances, each of
// which merges hits as [pipeline.Counters] does. With -memory it asks beside the same
// servers what a client keeps, by primaries and lanes.
//
// Results are lines of JSON; -rewrite makes the tables of the pages from them.
package main
