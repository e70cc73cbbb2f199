// Package e2e drives the real clients through the real binary: Claude Code, from its npm package under clients, talks to
// `shunt run`, which has the simulated provider behind it. Everything is on loopback, in temporary homes.
//
// TestSoak needs no client: sessions of its own send requests, of which each checks its response, while faults hit the
// accounts. Flags say for how long and with which seed.
package e2e
