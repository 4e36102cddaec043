package report

import "github.com/redislanes/redislanes/internal/machine"

// A Machine is where and with what the figures came about.
type Machine struct {
	machine.Machine

	Redis []string `json:"redis"` // versions
	Given bool     `json:"existing_cluster"`
}

func thisMachine() Machine { return Machine{Machine: machine.This(), Redis: []string{}} }
