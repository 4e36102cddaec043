package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/redislanes/redislanes/redistest/sim"
)

// usage is the reply to GET /.
const usage = `GET  /nodes                  the nodes
GET  /key?key=user:42        the key's string, its primary, and whether the cluster may have lost writes to it
GET  /trouble?seed=1&for=5s  random faults from a seed, as a list for POST /faults
POST /faults                 makes a list of faults, and replies when the last one has ended
POST /heal                   ends the faults in force
`

const longest = time.Hour // for random faults

func handler(c *sim.Cluster) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprint(w, usage) })
	mux.HandleFunc("GET /nodes", func(w http.ResponseWriter, _ *http.Request) { reply(w, nodes(c)) })
	mux.HandleFunc("GET /key", func(w http.ResponseWriter, r *http.Request) {
		if key := r.FormValue("key"); key != "" {
			reply(w, keyOf(c, key))
			return
		}
		http.Error(w, "key is missing: want GET /key?key=user:42", http.StatusBadRequest)
	})
	mux.HandleFunc("GET /trouble", func(w http.ResponseWriter, r *http.Request) {
		faults, err := trouble(c, r.FormValue("seed"), r.FormValue("for"))
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		reply(w, faults)
	})
	mux.HandleFunc("POST /faults", func(w http.ResponseWriter, r *http.Request) {
		if err := replay(c, http.MaxBytesReader(w, r.Body, 1<<20)); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
		}
	})
	mux.HandleFunc("POST /heal", func(http.ResponseWriter, *http.Request) { c.Heal() })
	return mux
}

// reply sends a value as JSON.
func reply(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v) // fails only if the client has gone
}

type node struct {
	Addr    string `json:"addr"`
	Replica bool   `json:"replica"`
}

func nodes(c *sim.Cluster) (all []node) {
	for _, n := range c.Nodes() {
		all = append(all, node{n.Addr(), n.Replica()})
	}
	return all
}

type key struct {
	Value      *string `json:"value"` // null: there is no string
	Node       string  `json:"node"`
	LostWrites bool    `json:"lost_writes"`
}

func keyOf(c *sim.Cluster, name string) key {
	k := key{Node: c.Owner(name).Addr(), LostWrites: c.LostWrites(name)}
	if value, ok := c.Value(name); ok {
		k.Value = &value
	}
	return k
}

func trouble(c *sim.Cluster, seed, long string) ([]fault, error) {
	n, err := strconv.ParseUint(seed, 10, 64)
	if err != nil {
		return nil, fmt.Errorf("seed = %q: must be a number from 0 on", seed)
	}
	d, err := time.ParseDuration(long)
	if err != nil || d <= 0 || d > longest {
		return nil, fmt.Errorf("for = %q: must be a duration up to %v, such as 5s", long, longest)
	}
	all := []fault{}
	for _, f := range c.Plan(n, d) {
		all = append(all, toJSON(f))
	}
	return all, nil
}
