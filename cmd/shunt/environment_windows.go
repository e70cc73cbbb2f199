package main

import "os"

// environment returns the environment with HOME, which Windows calls USERPROFILE.
func environment() []string {
	env := os.Environ()
	if _, ok := os.LookupEnv("HOME"); ok {
		return env
	}
	if home, err := os.UserHomeDir(); err == nil {
		env = append(env, "HOME="+home)
	}
	return env
}
