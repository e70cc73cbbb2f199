package cli

import "os"

// replaceFile writes a file. A reader may find a part of it.
func replaceFile(path string, data []byte) error {
	return os.WriteFile(path, data, 0o644)
}
