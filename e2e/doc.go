// Package e2e drives the real clients through the real binary: Claude Code, from its npm package under clients, talks to
// `shunt run`, which has the simulated provider behind it. Everything is on loopback, in temporary homes.
package e2e
