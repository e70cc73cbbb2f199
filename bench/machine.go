package main

import (
	"context"
	"debug/buildinfo"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"time"
)

// head returns where, when and how the measurement was made, and of what.
func head(ctx context.Context, o options) ([]string, error) {
	versions := "bare proxy: " + runtime.Version()
	if o.shunt != "" {
		shunt, err := shuntVersion(ctx, o.shunt)
		if err != nil {
			return nil, err
		}
		versions += "; " + shunt
	}
	return []string{
		"Machine: " + machine(),
		"Versions: " + versions,
		"Command: `" + command(os.Args[1:]) + "` in `bench/`",
		"When: " + time.Now().UTC().Format("2006-01-02 15:04 UTC"),
		fmt.Sprintf("Rounds: %d of %v per program, %d for the streams; the ratio is the median of the rounds' ratios", o.rounds, o.length, o.streamRounds),
	}, nil
}

func machine() string {
	cpu, kernel := "unknown processor", "unknown kernel"
	if info, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		if _, after, ok := strings.Cut(string(info), "model name"); ok {
			line, _, _ := strings.Cut(after, "\n")
			cpu = strings.TrimLeft(line, "\t :")
		}
	}
	if release, err := os.ReadFile("/proc/sys/kernel/osrelease"); err == nil {
		kernel = "Linux " + strings.TrimSpace(string(release))
	}
	return fmt.Sprintf("%s, %d cores, %s", cpu, runtime.NumCPU(), kernel)
}

// shuntVersion returns the version that the binary prints, and the commit that it was built from if it is known.
func shuntVersion(ctx context.Context, path string) (string, error) {
	said, err := exec.CommandContext(ctx, path, "version").Output()
	if err != nil {
		return "", fmt.Errorf("%s version: %w", path, err)
	}
	info, err := buildinfo.ReadFile(path)
	if err != nil {
		return "", err
	}
	version := strings.TrimSpace(string(said)) + ", " + info.GoVersion
	settings := map[string]string{}
	for _, s := range info.Settings {
		settings[s.Key] = s.Value
	}
	if commit := settings["vcs.revision"]; commit != "" {
		version += ", commit " + commit
		if settings["vcs.modified"] == "true" {
			version += " with changes"
		}
	}
	return version, nil
}

// command returns the command line without the values of headers, which may be keys.
func command(args []string) string {
	words := []string{"go run ."}
	for i, arg := range args {
		isHeader := strings.HasPrefix(strings.TrimLeft(arg, "-"), "header=") || i > 0 && strings.TrimLeft(args[i-1], "-") == "header"
		if name, _, ok := strings.Cut(arg, ":"); ok && isHeader {
			arg = name + ": ..."
		}
		if strings.ContainsAny(arg, " \t'\"\\$&|;<>()*?[]`") {
			arg = "'" + strings.ReplaceAll(arg, "'", `'\''`) + "'"
		}
		words = append(words, arg)
	}
	return strings.Join(words, " ")
}
