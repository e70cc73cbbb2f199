// Package e2e drives the real clients through the real binary: Claude Code, from its npm package under clients, talks to
// `shunt run`, which has the simulated provider behind it. Everything is on loopback, in temporary homes.
//
// TestSoak needs no client: it sends requests of many sessions and checks each response while faults hit the accounts. Its flags
// set its duration and seed.
package e2e
