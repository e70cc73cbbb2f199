package config

import (
	"log/slog"
	"net/netip"
	"regexp"
	"strings"
	"time"

	"shunt/internal/config/schema"
	"shunt/internal/hosts"
)

func seconds() schema.Type[time.Duration] { return schema.Duration(0, time.Second, "(seconds)") }

func milliseconds(low int64) schema.Type[time.Duration] {
	return schema.Duration(low, time.Millisecond, "(milliseconds)")
}

// interval is the time between two polls: 0, or at least a minute, to which a shorter one is raised (QUO-20).
func interval() schema.Type[time.Duration] {
	return schema.Convert(seconds(), func(d time.Duration) time.Duration {
		if d > 0 {
			d = max(d, time.Minute)
		}
		return d
	})
}

// fraction is a number from 0 to 1 (CFG-40).
var fraction = schema.Number(0, 1)

func notBlank(what string) schema.Type[string] {
	return schema.Text(what+", which is not blank", func(text string, _ schema.Base) (string, error) {
		if strings.TrimSpace(text) == "" {
			return "", schema.ErrUnexpected
		}
		return text, nil
	})
}

var logLevel = schema.Text(`"debug", "info", "warn" or "error"`, func(text string, _ schema.Base) (slog.Level, error) {
	level, ok := map[string]slog.Level{
		"debug": slog.LevelDebug, "info": slog.LevelInfo, "warn": slog.LevelWarn, "error": slog.LevelError,
	}[text]
	if !ok {
		return 0, schema.ErrUnexpected
	}
	return level, nil
})

var address = schema.Text(
	`an IP address and a port, such as "127.0.0.1:3001" or "[::1]:3001"; host names are not resolved`,
	func(text string, _ schema.Base) (netip.AddrPort, error) {
		parsed, err := netip.ParseAddrPort(text)
		if err != nil {
			return netip.AddrPort{}, schema.ErrUnexpected
		}
		return netip.AddrPortFrom(parsed.Addr().Unmap(), parsed.Port()), nil
	},
)

// networks are CIDRs. A network of IPv4 addresses that is written as IPv6 becomes one of IPv4.
var networks = schema.List(`a list of networks, such as ["192.168.0.0/16", "fd00::/8"]`, func(text string) (netip.Prefix, error) {
	p, err := netip.ParsePrefix(text)
	if err != nil {
		return netip.Prefix{}, schema.ErrUnexpected
	}
	if mapped := p.Bits() - 96; p.Addr().Is4In6() && mapped >= 0 {
		p = netip.PrefixFrom(p.Addr().Unmap(), mapped)
	}
	return p.Masked(), nil
})

// hostNames are names for the Host header, in lower case and without ports.
var hostNames = schema.List(`a list of host names without scheme and port, such as ["shunt.home.arpa"]`, func(text string) (string, error) {
	if addr, err := netip.ParseAddr(text); err == nil {
		return addr.String(), nil
	}
	host := hosts.Lower(text)
	if len(host) > 253 || !hostLabels.MatchString(host) {
		return "", schema.ErrUnexpected
	}
	return host, nil
})

var hostLabels = regexp.MustCompile(`^[a-z0-9_-]+(\.[a-z0-9_-]+)*$`)
