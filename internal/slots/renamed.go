package slots

// A Renaming is a node that the map in use has at another address.
type Renaming struct {
	ID, From, To string
}

// Renamed returns the nodes that said has at another address than use. A node is left out
// if its old address is another one's now, or if it has several.
func Renamed(use, said *Map) (all []Renaming) {
	if use == nil {
		return nil
	}
	before, now := use.addrs(), said.addrs()
	for id, to := range now {
		if from := before[id]; from != "" && to != "" && from != to && len(said.at[from].all) == 0 {
			all = append(all, Renaming{id, from, to})
		}
	}
	return all
}

// addrs returns the address of each node, "" for one that has several.
func (m *Map) addrs() map[string]string {
	of := make(map[string]string)
	for _, r := range m.Ranges {
		for _, n := range r.Nodes {
			if is, ok := of[n.ID]; ok && is != n.Addr || n.ID == "" {
				of[n.ID] = ""
				continue
			}
			of[n.ID] = n.Addr
		}
	}
	return of
}

// Keeping returns the map with the old addresses of nodes.
func (m *Map) Keeping(all []Renaming) *Map {
	if len(all) == 0 {
		return m
	}
	old := make(map[string]string, len(all))
	for _, r := range all {
		old[r.ID] = r.From
	}
	w := *m
	w.Ranges, w.Claims = make([]Range, len(m.Ranges)), make([]Claim, len(m.Claims))
	for i, r := range m.Ranges {
		w.Ranges[i] = Range{First: r.First, Last: r.Last, Nodes: make([]NodeAddr, len(r.Nodes))}
		for k, n := range r.Nodes {
			if addr, ok := old[n.ID]; ok {
				n.Addr = addr
			}
			w.Ranges[i].Nodes[k] = n
		}
	}
	for i, c := range m.Claims {
		if addr, ok := old[c.ID]; ok {
			c.Addr = addr
		}
		w.Claims[i] = c
	}
	w.at = placesOf(w.Ranges)
	return &w
}
