//go:build unix

package config

// systemDirectory is where an administrator puts the configuration of a whole machine.
const systemDirectory = "/etc/shunt"
