package config

// Changed lists the keys that differ between two configurations and take effect only at the next start (CFG-51).
func Changed(before, after *Config) []string { return after.schema.Changed(before, after) }
