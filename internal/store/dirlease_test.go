package store_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"testing"
	"time"

	"shunt/internal/store"
)

func isHeld(t *testing.T, s store.Store, name string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := s.Lease(ctx, name); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("the lease of %s is free: %v", name, err)
	}
}

// TOK-7d: where no lock file can be made, as on a read-only disk, the document itself is locked.
func TestDirLeaseWithoutLockFile(t *testing.T) {
	path := t.TempDir()
	a, b := store.NewDir(path), store.NewDir(path)
	put(t, a, "a.json", "one")
	if err := os.Mkdir(path+"/a.json.lock", 0o700); err != nil { // not even root can open this as a file
		t.Fatal(err)
	}
	lease, err := a.Lease(t.Context(), "a.json")
	if err != nil {
		t.Fatal(err)
	}
	isHeld(t, b, "a.json")
	lease.Release()
	lease, err = b.Lease(t.Context(), "a.json")
	if err != nil {
		t.Fatal(err)
	}
	lease.Release()
}

// holderDir makes TestDirLeaseEndsWithItsProcess the child process that holds the lease.
const holderDir = "SHUNT_TEST_LEASE_DIR"

// TOK-4, REP-5: a process that is killed loses its lease at once, and not before.
func TestDirLeaseEndsWithItsProcess(t *testing.T) {
	if path := os.Getenv(holderDir); path != "" {
		if _, err := store.NewDir(path).Lease(t.Context(), "doc"); err != nil {
			t.Fatal(err)
		}
		fmt.Println("held")
		_, _ = io.Copy(io.Discard, os.Stdin) // until it is killed, or its parent is
		return
	}
	path := t.TempDir()
	holder := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$")
	holder.Env = append(os.Environ(), holderDir+"="+path)
	stdin, err := holder.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer stdin.Close()
	stdout, err := holder.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := holder.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(stdout).ReadString('\n'); line != "held\n" {
		t.Fatalf("the child printed %q, %v", line, err)
	}
	d := store.NewDir(path)
	isHeld(t, d, "doc")
	_ = holder.Process.Kill()
	_ = holder.Wait()
	lease, err := d.Lease(t.Context(), "doc")
	if err != nil {
		t.Fatal(err)
	}
	lease.Release()
}
