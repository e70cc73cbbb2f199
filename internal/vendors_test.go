package internal_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// neutral are the packages, with those below them, that work for every vendor.
var neutral = []string{"account", "config/schema", "gateway", "pool", "quota", "relay", "store", "upstream"}

var vendors = regexp.MustCompile(`(?i)anthropic|claude|fable|sonnet|codex|chatgpt|openai|kimi|gemini`)

// No vendor is named outside its own packages.
func TestVendors(t *testing.T) {
	for _, dir := range neutral {
		files := 0
		err := filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error {
			if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			files++
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			number := 0
			for line := range strings.Lines(string(text)) {
				number++
				if vendor := vendors.FindString(line); vendor != "" {
					t.Errorf("internal/%s:%d names %s: %s", filepath.ToSlash(path), number, vendor, strings.TrimSpace(line))
				}
			}
			return nil
		})
		if err != nil || files == 0 {
			t.Errorf("%s: %d files (%v)", dir, files, err)
		}
	}
}
